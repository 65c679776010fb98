const scratch = Buffer.allocUnsafeSlow(4_096);

/** Encodes text as base64url. Short text goes through one buffer: a page has hundreds of ids and cursors. */
export function toBase64url(text: string): string {
  // A character takes at most three bytes.
  if (text.length * 3 > scratch.length) return Buffer.from(text).toString("base64url");
  return scratch.toString("base64url", 0, scratch.write(text));
}

export const fromBase64url = (text: string): string => Buffer.from(text, "base64url").toString("utf8");
