import { readFileSync } from "node:fs";

/** A row of the service's document, as `test/contract/endpoint-table.txt` has it. */
export interface ContractRow {
  /** `POST {u}/{p}/jobs/{id}/stop` */
  readonly row: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** What a good answer holds: a record or a page of them, `text`, `bytes`, or `nothing` that is documented. */
  readonly content: string;
  /** The mutation that sends it; null for rows that read. */
  readonly mutation: string | null;
}

export interface ContractSection {
  readonly heading: string;
  readonly rows: readonly ContractRow[];
}

const LINE = /^((GET|POST|PATCH|DELETE) (\S+)) +(\d+) ((?:\S+ )*\S+)(?: {2,}(\w+))?$/;

function readRow(line: string): ContractRow {
  const [, row, method, path, status, content, mutation = null] = LINE.exec(line) ?? [];
  if (!row || !method || !path || !content) {
    throw new TypeError(`expected a row, its status, its content and its mutation, got ${line}`);
  }
  return { row, method, path, status: Number(status), content, mutation };
}

const table = readFileSync(new URL("../contract/endpoint-table.txt", import.meta.url), "utf8");

/** The service's document, section by section. */
export const contract: readonly ContractSection[] = table
  .split(/^# /m)
  .slice(1)
  .map((section) => {
    const [heading = "", ...lines] = section.split("\n").filter((line) => line !== "");
    return { heading, rows: lines.map(readRow) };
  });

export const contractRows: readonly ContractRow[] = contract.flatMap(({ rows }) => rows);

/** Names of path parameters differ between the document and the code; where they stand must not. */
export const unnamed = (row: string): string => row.replaceAll(/\{\w+\}/g, "{}");
