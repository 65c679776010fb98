/** The tags of a text, with commas or spaces between them. */
export const tagsIn = (text: string): readonly string[] => text.split(/[\s,]+/).filter(Boolean);
