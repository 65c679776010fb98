import type { ServerResponse } from "node:http";

/** Sends a complete response of plain text, such as the response to a health probe. It must not be cached. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" }).end(text);
}
