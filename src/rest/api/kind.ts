import { type AnyEndpoint, type Command, type Get, get, optional, post } from "./endpoint.ts";
import { bookmarksOf, Bytes, Nothing, type Page, pageOf } from "./reader.ts";
import type { Read } from "./record.ts";
import { OutputFolder, type RunnableRecord, type StatusRecord } from "./records.ts";
import type { RunAddress, Spelling } from "./reference.ts";

/* The shape of the rows of `kinds.ts`. */

/** The body of an update or a restart. The profile says which keys a server takes. */
export type Revision = Readonly<Record<string, unknown>>;

/** Endpoints by their names in profiles. */
type Named = Readonly<Record<string, AnyEndpoint | undefined>>;
type Act = Command<RunAddress, undefined>;

/** A kind whose records profiles describe. */
export interface RecordKind {
  /** What profiles call its lists and its records. */
  readonly records: string;
  readonly keys: readonly string[];
  /** The endpoints that are not in the document. */
  readonly optional?: Named;
}

/** A kind of run, whose records are addressed by owner, project and id. */
export interface RunKind<out R extends RunnableRecord = RunnableRecord> extends RecordKind {
  /** The name of its type, also in global ids. */
  readonly name: string;
  /** What descriptions call one of them, and several. */
  readonly one: string;
  readonly many: string;
  /** Replaces `many` where that alone would be unclear. */
  readonly manyInFull?: string;
  /** How references to it are spelled, and the id in examples of them. */
  readonly reference: Spelling;
  readonly example: string;
  /** The endpoints of the document. Those that several kinds have are listed here; a kind can have others. */
  readonly endpoints: Named & {
    readonly read: Get<RunAddress, R>;
    readonly list?: Get<Pick<RunAddress, "owner" | "project">, Page<R>>;
    readonly statuses?: Get<RunAddress, Page<StatusRecord>>;
    readonly logs?: Get<RunAddress, undefined>;
    readonly outputs?: Get<RunAddress, undefined>;
    readonly update?: Command<RunAddress, R, Revision>;
    readonly resume?: Command<RunAddress, R>;
    readonly copy?: Command<RunAddress, R>;
    readonly delete?: Act;
    readonly stop?: Act;
    readonly startTensorboard?: Act;
    readonly stopTensorboard?: Act;
    readonly bookmark?: Act;
    readonly unbookmark?: Act;
  };
  readonly optional?: Named &
    Partial<ReturnType<typeof commonOptional<R>>> &
    Partial<ReturnType<typeof outputOptional>>;
}

export const P = "{owner}/{project}";

/** The optional endpoints that all kinds of run have: `jobs`, `bookmarkedJobs`, `archivedJobs`, `archiveJob`, `restoreJob`. */
export const commonOptional = <R>(one: string, many: string, read: Read<R>) => ({
  list: optional(many, "LISTS", get(`${P}/${many}`, pageOf(read))),
  bookmarked: optional(
    `bookmarked${capital(many)}`,
    "BOOKMARKS",
    get(`bookmarks/{owner}/${many}`, bookmarksOf(read)),
  ),
  archived: optional(`archived${capital(many)}`, "ARCHIVES", get(`archives/{owner}/${many}`, pageOf(read))),
  archive: optional(`archive${capital(one)}`, "ARCHIVES", post(`${P}/${many}/{id}/archive`, Nothing)),
  restore: optional(`restore${capital(one)}`, "ARCHIVES", post(`${P}/${many}/{id}/restore`, Nothing)),
});

/** The optional endpoints of kinds with outputs: `jobOutputFolder`, `jobOutputFile`. Both take the query parameter `path`. */
export const outputOptional = (one: string, many: string) => ({
  outputFolder: optional(
    `${one}OutputFolder`,
    "OUTPUT_FILES",
    get(`${P}/${many}/{id}/outputs/tree`, OutputFolder),
  ),
  outputFile: optional(`${one}OutputFile`, "OUTPUT_FILES", get(`${P}/${many}/{id}/outputs/files`, Bytes)),
});

export function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The name of a type as fields spell it: `buildJob`. */
export const uncapital = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** `a job, a build job or a group` */
export const either = (names: readonly string[]): string => names.join(", ").replace(/, ([^,]*)$/, " or $1");
