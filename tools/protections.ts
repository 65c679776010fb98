import mutations from "../test/protections/mutations.json" with { type: "json" };

/** A protection, the test that fails without it, and the edit that removes it. */
export interface Protection {
  readonly protects: string;
  /** The file of the test, and its title as in the code. */
  readonly test: { readonly file: string; readonly title: string };
  /** Replaces one string of a file. A space in `from` matches any white space of the file. */
  readonly edit: { readonly file: string; readonly from: string; readonly to: string };
}

export const PROTECTIONS: readonly Protection[] = mutations;

const exactly = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Matches the string that an edit replaces. */
export const editPattern = ({ edit }: Protection): RegExp =>
  new RegExp(edit.from.split(" ").map(exactly).join("\\s+"), "g");

/** Matches the titles of a test: `test.each` inserts values for `%s` and `$name`. */
export const titlePattern = (title: string): string =>
  title
    .split(/%[a-z]|\$\w+/)
    .map(exactly)
    .join(".*");
