import { readFileSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** The file whose content the block is: the preceding paragraph begins with its name and ends with a colon. */
  readonly file: string | null;
}

export interface Page {
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The page whose project folder this page continues to use; null if the page depends on no other one. */
  readonly continuesFrom: string | null;
}

/** Reads a page of Markdown, by its path in the repository. */
export function readPage(page: string): Page {
  const text = readFileSync(new URL(page, ROOT), "utf8");
  const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
    ({ 1: language = "", 2: code = "", index }) => {
      const before = text.slice(0, index);
      const paragraph =
        before
          .trimEnd()
          .split(/\n\n|^```$/m)
          .at(-1) ?? "";
      return {
        page,
        line: before.split("\n").length,
        language,
        text: code,
        file: /^\s*`([\w./-]+)`[^]*:$/.exec(paragraph)?.[1] ?? null,
      };
    },
  );
  const link = /^Continues in the folder of \[[^\]]+\]\(([\w.-]+)\)/m.exec(text)?.[1];
  return {
    text,
    blocks,
    continuesFrom: link ? new URL(link, new URL(page, "file:///")).pathname.slice(1) : null,
  };
}
