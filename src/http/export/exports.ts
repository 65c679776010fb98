import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLSchema } from "graphql";
import { InputError, tryTo } from "../../errors.ts";
import { RequestScope } from "../../callers/request-scope.ts";
import type { Extension } from "../../graphql/types/export-urls.ts";
import { resolveRunsParent } from "../../graphql/core/ids.ts";
import { acceptsGzip, compressEach } from "../response-writer.ts";
import { admitDownload, contentDisposition, type OpenedDownload, serveDownload } from "../downloads.ts";
import { OperationContext } from "../operation-context.ts";
import type { GatewayDependencies } from "../dependencies.ts";
import { sendText } from "../text-response.ts";
import { either } from "../../rest/api/kinds.ts";
import { FORMATS } from "./formats.ts";
import { createParameters } from "./parameters.ts";
import { UNTRACKED } from "../../rest/session/batch-loader.ts";
import { openTable, type ReadScope, rowsOfMetrics, rowsOfRuns } from "./table.ts";

// oxlint-disable-next-line linear/regexp -- the formats are words: each part ends where the next begins
const EXPORT_ROUTE = new RegExp(
  `^/export/([^/?]+)/(runs|metrics)\\.(${Object.keys(FORMATS).join("|")})(?:\\?(.*))?$`,
  "s",
);

/** Matches the path of a table in any format, including formats that do not exist. */
const OTHER_FORMAT = /^\/export\/[^/?]+\/(?:runs|metrics)(?:\.[^/?]*)?(?:\?|$)/;

const BYTE_ORDER_MARK = "\uFEFF";

const TABLES = {
  runs: { rowsOf: rowsOfRuns, lists: ["columns"] },
  metrics: { rowsOf: rowsOfMetrics, lists: ["columns", "names"] },
} as const;

/**
 * Serves the routes behind `experimentsUrl` and `metricsUrl`: `GET /export/{id}/runs.csv` and the like. `id` is a global id or a unique
 * name. Reads the list page by page, as fast as the caller reads the file. Returns false for other paths. `schema` must be the schema
 * without renamed types.
 */
export function createExports(dependencies: GatewayDependencies, schema: GraphQLSchema) {
  const readParameters = createParameters(schema, !dependencies.config.INTROSPECTION);

  const openReadScope = (request: IncomingMessage, scope: RequestScope): ReadScope => {
    // The scope has no deadline, because an export, unlike a download, may have to wait for the rate limit of its token.
    const own = new RequestScope(scope, Number.POSITIVE_INFINITY);
    const leave = () => own.end("disconnected");
    scope.onEnd(leave);
    const reservation = dependencies.memoryBudget.open(own);
    const progress = { ...UNTRACKED, chargeMemory: (bytes: number) => reservation.charge(bytes) };
    return {
      context: new OperationContext(dependencies, { request, scope: own, progress }),
      end: () => {
        scope.offEnd(leave);
        own.end("completed");
      },
    };
  };

  const open = async (
    request: IncomingMessage,
    [, id = "", given = "", extension = "", query = ""]: readonly string[],
    scope: RequestScope,
  ): Promise<OpenedDownload> => {
    // Safe: `EXPORT_ROUTE` matches no other words.
    const [what, format] = [given as keyof typeof TABLES, extension as Extension];
    // The id is decoded, because clients encode letters such as `ä`.
    const source = resolveRunsParent("id", tryTo(() => decodeURIComponent(id)) ?? id);
    const parameters = readParameters(new URLSearchParams(query), TABLES[what].lists);
    if (parameters.hasMark && format !== "csv")
      throw new InputError("bom: expected a CSV file, got another format, which has no byte order mark");
    const rowsOf = TABLES[what].rowsOf(parameters, dependencies.details);
    admitDownload(dependencies, scope);
    const begin = () => openReadScope(request, scope);
    const { count, text } = await openTable(source, parameters.args, FORMATS[format], begin, rowsOf);
    // Reads the first rows before the response begins, so that an error before them is a complete response, not an aborted body.
    const begun = await text.next();
    const bytes = bytesOf((parameters.hasMark ? BYTE_ORDER_MARK : "") + (begun.value ?? ""), text);
    const isCompressed = acceptsGzip(request.headers["accept-encoding"]);
    return {
      status: 200,
      headers: {
        "content-type": FORMATS[format].contentType,
        vary: "accept-encoding",
        ...contentDisposition("attachment", `${source.name}.${what}.${format}`),
        ...(count !== null && { "x-total-count": `${count}` }),
        ...(isCompressed && { "content-encoding": "gzip" }),
      },
      body: isCompressed ? compressEach(bytes) : bytes,
      // Errors of the body are already converted.
      failureOf: (error) => error,
    };
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const found = EXPORT_ROUTE.exec(request.url ?? "");
    const what = found?.[2] as keyof typeof TABLES | undefined;
    if (!found || !what) {
      if (!OTHER_FORMAT.test(request.url ?? "")) return false;
      const extensions = either(Object.keys(FORMATS).map((each) => `.${each}`));
      sendText(response, 404, `not found: expected a file that ends with ${extensions}\n`);
      return true;
    }
    void serveDownload(dependencies, request, response, {
      what,
      route: `/export/{id}/${what}.${found[3]}`,
      open: (scope) => open(request, found, scope),
    });
    return true;
  };
}

async function* bytesOf(begin: string, chunks: AsyncGenerator<string>) {
  if (begin !== "") yield Buffer.from(begin);
  for await (const chunk of chunks) yield Buffer.from(chunk);
}
