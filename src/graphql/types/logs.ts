import type { InputShapeFromFields } from "@pothos/core";
import { fromBase64url, toBase64url } from "../../rest/api/reference.ts";
import { InputError } from "../../errors.ts";
import type { LogWindow, WindowRequest } from "../../rest/session/log-window.ts";
import { arg, computedFrom, objectType, exposed } from "../core/builder.ts";
import { within } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { nullIfMissing, type Resource } from "../core/resource.ts";
import { idOf } from "../core/ids.ts";

function linesOf({ text }: LogWindow): readonly string[] {
  const lines = text.split(/\r?\n/);
  // A newline at the end of the log ends the last line and does not begin another.
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export const LogChunk = objectType<LogWindow>("LogChunk", "A part of a log.", (t) => ({
  text: t.string(exposed("text", "Text. Invalid UTF-8 is replaced.")),
  lines: t.field(computedFrom(["String"], "The text in lines.", linesOf)),
  endCursor: t.string({
    description: "Cursor of its end. Pass it as `after` to read the text that follows.",
    resolve: ({ endByte }) => formatCursor(endByte),
  }),
  hasMore: t.boolean(exposed("hasMore", "Whether more text followed.")),
  startByte: t.float(exposed("startByte", "Position of its first byte in the log.")),
  isRestarted: t.boolean(
    exposed(
      "isRestarted",
      "Whether the log is shorter than the position `after`. It has then begun anew, and this is its beginning.",
    ),
  ),
}));

const MAX_LINES = 5_000;

export const logArgs = {
  after: arg.string({ description: "Cursor after which the text begins. Not with `tailLines`." }),
  maxBytes: arg.int({
    defaultValue: 65_536,
    description: "Maximum number of bytes, up to `gateway.limits.maxLogBytes`.",
  }),
  tailLines: arg.int({ description: "Number of last lines, 1 to 5000, instead of the first bytes." }),
};

type LogArgs = InputShapeFromFields<typeof logArgs>;

/**
 * Reads a part of a log. Resolves with null if the log was never written. Rejects if the run does not exist, and with `InputError` for
 * invalid arguments.
 */
export async function readLog(
  resource: Resource,
  args: LogArgs,
  context: Context,
): Promise<LogWindow | null> {
  const { kind, address } = resource;
  const wanted = windowRequest(args, context);
  // Only kinds with a log have this field. `window` rejects if the server does not offer the log.
  if (!kind.logs) throw new TypeError(`${kind.name} has no log`);
  return nullIfMissing(resource, context.session.window(kind.logs, address, wanted), context.session);
}

function windowRequest({ after, maxBytes, tailLines }: LogArgs, { gateway }: Context): WindowRequest {
  const bytes = within("maxBytes", maxBytes ?? 65_536, { from: 1, to: gateway.maxLogBytes });
  if (tailLines == null) return { fromByte: after == null ? 0 : parseCursor(after), maxBytes: bytes };
  if (after != null) throw new InputError("after: expected none with tailLines, got both");
  return { tailLines: within("tailLines", tailLines, { from: 1, to: MAX_LINES }), maxBytes: bytes };
}

const formatCursor = (byte: number) => toBase64url(`byte:${byte}`);

/** Returns the position in a cursor of a log, in bytes. Throws `InputError` for any other string. */
export function parseCursor(cursor: string): number {
  const text = cursor.length > 60 ? "" : fromBase64url(cursor);
  const byte = /^byte:(\d{1,15})$/.exec(text)?.[1];
  if (byte === undefined)
    throw new InputError(`after: expected a cursor of this log, got ${JSON.stringify(cursor.slice(0, 60))}`);
  return Number(byte);
}

/** The downloads: a log, the archive of the outputs, or a single output file. */
export type Download = "logs" | "outputs" | "files";

const downloadUrl = (resource: Resource, what: Download, { publicUrl }: Context): string =>
  `${publicUrl}/downloads/${idOf(resource)}/${what}`;

export const fileUrl = (resource: Resource, path: string, context: Context): string =>
  `${downloadUrl(resource, "files", context)}?path=${encodeURIComponent(path)}`;

export const urlOf = (what: Download, text: string) =>
  fieldsOf().fromAddress(
    `URL of ${text}. Send the \`Authorization\` header of GraphQL.`,
    (resource, _, context) => downloadUrl(resource, what, context),
  );
