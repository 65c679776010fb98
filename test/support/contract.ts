import { readFileSync } from "node:fs";

/** A row of the service's document, from `test/contract/endpoint-table.txt`. */
export type ContractRow = ReturnType<typeof readRow>;

const LINE = /^((GET|POST|PATCH|DELETE) (\S+)) +(\d+) ((?:\S+ )*\S+)(?: {2,}(\w+))?$/;

function readRow(line: string) {
  const [, row, method, path, status, content, mutation = null] = LINE.exec(line) ?? [];
  if (!row || !method || !path || !content) {
    throw new TypeError(`expected a row, its status, its content and its mutation, got ${line}`);
  }
  return {
    /** The row, such as `POST {u}/{p}/jobs/{id}/stop`. */
    row,
    method,
    path,
    status: Number(status),
    /** The content of a successful response: a record, a page of records, `text`, `bytes`, or `nothing` if no content is documented. */
    content,
    /** The mutation that sends this request; null for rows that read. */
    mutation,
  };
}

const table = readFileSync(new URL("../contract/endpoint-table.txt", import.meta.url), "utf8");

/** The service's document, section by section. */
export const contract = table
  .split(/^# .*$/m)
  .slice(1)
  .map((section) => section.split("\n").filter(Boolean).map(readRow));

export const contractRows = contract.flat();

/** Removes the names of path parameters: the document and the code may differ in the names, but not in the positions. */
export const unnamed = (row: string): string => row.replaceAll(/\{\w+\}/g, "{}");
