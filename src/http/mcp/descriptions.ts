/* Descriptions as agents read them: when to use a tool, and what an argument of it takes. */

/** The sentences of a text that pass; the text as it is where none does. */
const keep = (text: string, passes: (sentence: string) => boolean): string =>
  text
    .split(/(?<=[.?!]) +/)
    .filter(passes)
    .join(" ") || text;

const isOfCosts = (sentence: string): boolean => /\bupstream requests?\b/.test(sentence);

/** A description without the sentences about upstream requests, which say nothing of when to use a tool. */
export const withoutCosts = (description: string): string =>
  keep(description, (sentence) => !isOfCosts(sentence));

/** What a tool says of an argument otherwise. */
interface Told {
  readonly isRequired: boolean;
  readonly hasDefault: boolean;
  /** Whether its document has the kind of the runs, so that a name tells the rest. */
  readonly knowsKind: boolean;
}

/**
 * The description of an argument without what is not true of this tool: what its absence means where it is required, the
 * default of the schema where the tool has another, and that a name needs `kind` where the tool knows it.
 */
export const ofArgument = (description: string, { isRequired, hasDefault, knowsKind }: Told): string =>
  keep(
    description,
    (sentence) =>
      !isOfCosts(sentence) &&
      !(isRequired && /^Without it\b/.test(sentence)) &&
      !(hasDefault && sentence.startsWith("Default:")) &&
      !(knowsKind && /\bneeds `kind`/.test(sentence)),
  );
