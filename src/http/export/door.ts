import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLSchema } from "graphql";
import { RequestScope } from "../../request-scope.ts";
import type { Extension } from "../../graphql/types/exports.ts";
import { acceptsGzip, compressEach } from "../compression.ts";
import { createDownloadDoor, named, type OpenedDownload } from "../download-door.ts";
import { OperationContext, type Parts } from "../operation.ts";
import { FORMATS } from "./formats.ts";
import { createParameters } from "./parameters.ts";
import { openTable, type Part, sourceOf } from "./table.ts";
import { rowsOfMetrics, rowsOfRuns } from "./tables.ts";

const ROUTE = new RegExp(
  `^/export/([^/?]+)/(runs|metrics)\\.(${Object.keys(FORMATS).join("|")})(?:\\?(.*))?$`,
  "s",
);

/** The tables that are exported. */
const TABLES = {
  runs: { rowsOf: rowsOfRuns, lists: ["columns"] },
  metrics: { rowsOf: rowsOfMetrics, lists: ["columns", "names"] },
} as const;

/**
 * Serves the routes behind `runsUrl` and `metricsUrl`: `GET /export/{id}/runs.csv` and so on, by global id or unique name. Reads one page of the list
 * after the other, as the caller reads the file. Returns false for other paths. `schema` has no renamed types.
 */
export function createExports(parts: Parts, schema: GraphQLSchema) {
  const serve = createDownloadDoor(parts);
  const readParameters = createParameters(schema);

  const openPart = (request: IncomingMessage, scope: RequestScope): Part => {
    // Like the download itself, a part has no deadline: it may wait for the allowance of its token.
    const part = new RequestScope(scope, Number.POSITIVE_INFINITY);
    const leave = () => part.end("left");
    scope.onEnd(leave);
    return {
      context: new OperationContext(parts, { request, scope: part }),
      end: () => {
        scope.offEnd(leave);
        part.end("done");
      },
    };
  };

  const open = async (
    request: IncomingMessage,
    { id, what, format, query }: Exported,
    scope: RequestScope,
    admit: () => void,
  ): Promise<OpenedDownload> => {
    const source = sourceOf(id);
    const parameters = readParameters(new URLSearchParams(query), TABLES[what].lists);
    const rowsOf = TABLES[what].rowsOf(parameters, parts.facts);
    admit();
    const asked = { source, parameters, format: FORMATS[format], openPart: () => openPart(request, scope) };
    const { columns, total, pieces } = await openTable(asked, rowsOf);
    // What fails before the first row is an answer, not a body that breaks off.
    const { value: rows = "" } = await pieces.next();
    const bytes = bytesOf(FORMATS[format].head(columns) + rows, pieces);
    const isCompressed = acceptsGzip(request.headers["accept-encoding"]);
    return {
      status: 200,
      headers: {
        "content-type": FORMATS[format].contentType,
        vary: "accept-encoding",
        ...named("attachment", `${source.name}.${what}.${format}`),
        ...(total !== null && { "x-total-count": `${total}` }),
        ...(isCompressed && { "content-encoding": "gzip" }),
      },
      // The body reports its own end, be it early.
      body: isCompressed ? compressEach(bytes) : bytes,
      cancel: () => void pieces.return(undefined),
      failureOf: (error) => error,
    };
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const [, id, what, format, query = ""] = ROUTE.exec(request.url ?? "") ?? [];
    if (!id || !what || !format) return sendUnknown(request, response);
    // Safe: `ROUTE` matches no other words.
    const exported = {
      id: decoded(id),
      query,
      what: what as keyof typeof TABLES,
      format: format as Extension,
    };
    serve(request, response, {
      what: exported.what,
      route: `/export/{id}/${what}.${format}`,
      open: (...admission) => open(request, exported, ...admission),
    });
    return true;
  };
}

const UNKNOWN = `not found: expected /export/{id}/${Object.keys(TABLES).join("|")}.${Object.keys(FORMATS).join("|")}\n`;

/** Says which exports there are to a caller who asks for another one. Returns false for other paths. */
function sendUnknown({ url = "" }: IncomingMessage, response: ServerResponse): boolean {
  if (!url.startsWith("/export/")) return false;
  response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end(UNKNOWN);
  return true;
}

/** A segment of a path without its percent-encoding: clients encode letters such as `ä`. Left as it is where it is none. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** What the URL of an export names. */
interface Exported {
  readonly id: string;
  readonly what: keyof typeof TABLES;
  readonly format: Extension;
  readonly query: string;
}

async function* bytesOf(
  begin: string,
  pieces: AsyncGenerator<string>,
): AsyncGenerator<Uint8Array, undefined> {
  if (begin !== "") yield Buffer.from(begin);
  for await (const piece of pieces) yield Buffer.from(piece);
}
