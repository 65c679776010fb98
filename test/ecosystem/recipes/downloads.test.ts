import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { startGateway } from "../../support/gateway.ts";
import { globalId } from "../../support/ids.ts";
import { listen } from "../../support/listen.ts";
import { importSnippet } from "./snippet.ts";

const FILE = Buffer.from("the files of a run, long enough to be cut into two parts");
const CUT = 20;
const ETAG = '"1"';

/** The function that the recipe on the page exports. */
interface Recipe {
  readonly download: (
    url: string,
    headers: Record<string, string>,
    onProgress: (progress: { readonly loaded: number; readonly total: number | null }) => void,
  ) => Promise<{ readonly name: string | null; readonly bytes: Blob }>;
}

/**
 * Starts a file server behind a gateway. Its first response stops halfway until `cut` ends the connection. `ranges` are the requested
 * ranges.
 */
async function startCutting({ hasRanges }: { readonly hasRanges: boolean }) {
  const ranges: (string | undefined)[] = [];
  const under: { first?: ServerResponse } = {};
  const service = await listen((request, response) => {
    const { range, "if-range": validator } = request.headers;
    ranges.push(range);
    const start = hasRanges && validator === ETAG ? Number(/\d+/.exec(range ?? "0")?.[0]) : 0;
    response.writeHead(start > 0 ? 206 : 200, {
      "content-length": FILE.length - start,
      ...(start > 0 ? { "content-range": `bytes ${start}-${FILE.length - 1}/${FILE.length}` } : {}),
      ...(hasRanges ? { "accept-ranges": "bytes", etag: ETAG } : {}),
    });
    if (ranges.length > 1) response.end(FILE.subarray(start));
    else response.write(FILE.subarray(0, CUT));
    under.first ??= response;
  });
  const { url } = await startGateway({ upstream: { url: service } });
  const id = globalId("Experiment:ada/mnist/42");
  return { url: `${url}/downloads/${id}/outputs`, ranges, cut: () => under.first?.destroy() };
}

test.each([
  { hasRanges: true, second: `bytes=${CUT}-` },
  { hasRanges: false, second: undefined },
])("the recipe completes a download after its first response was cut: %o", async ({ hasRanges, second }) => {
  // Safe: the page defines the exports of its files.
  const { download } = (await importSnippet("docs/recipes/downloads.md", "src/download.ts")) as Recipe;
  const { url, ranges, cut } = await startCutting({ hasRanges });
  const shown: (number | null)[][] = [];
  const { name, bytes } = await download(url, { authorization: "token t0ken" }, ({ loaded, total }) => {
    shown.push([loaded, total]);
    if (shown.length === 1) cut();
  });
  expect(await bytes.text()).toBe(FILE.toString());
  expect(name).toBe("ada.mnist.42.tar.gz");
  expect(ranges).toEqual([undefined, second]);
  expect(shown.at(-1)).toEqual([FILE.length, FILE.length]);
});
