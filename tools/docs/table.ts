type Cells = readonly (string | number)[];

/** A table of Markdown. A bar inside a cell would end it. */
export const table = (head: Cells, rows: readonly Cells[]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => `${cell}`.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
