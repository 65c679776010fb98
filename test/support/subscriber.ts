import { type IncomingMessage, request } from "node:http";
import { onTestFinished } from "vitest";
import type { Answer } from "./gateway.ts";
import { JSON_BODY } from "./raw-requests.ts";

interface Frame {
  readonly event: string;
  readonly data: string;
}

/** Parses the frames of an event stream as they arrive. A comment is a frame with the event `:`. */
async function* framesOf(response: IncomingMessage): AsyncGenerator<Frame> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
    text += chunk;
    // The text is searched only if this chunk may end a frame, because a frame may have megabytes.
    if (!/^\n|\n\n/.test(chunk)) continue;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const valueOf = (name: string) =>
        lines
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trimStart();
      yield { event: valueOf("event") ?? ":", data: valueOf("data") ?? "" };
    }
  }
}

export type Subscriber = Awaited<ReturnType<typeof subscribe>>;

export interface Subscription {
  /** The document; absent if `extensions` names it by its hash. */
  readonly query?: string;
  readonly variables?: object;
  readonly extensions?: object;
  readonly onError?: string;
  readonly token?: string | null;
}

/** Subscribes over server-sent events on a new connection. Resolves when the response begins. */
export async function subscribe(gatewayUrl: string, { token = "t0ken", ...params }: Subscription) {
  const sent = request(`${gatewayUrl}/graphql`, {
    method: "POST",
    agent: false,
    headers: {
      accept: "text/event-stream",
      ...JSON_BODY,
      ...(token === null ? {} : { authorization: `token ${token}` }),
    },
  });
  onTestFinished(() => void sent.destroy());
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on("response", resolve);
    sent.on("error", reject);
    sent.end(JSON.stringify(params));
  });
  const frames = framesOf(response);
  const frame = async (): Promise<Frame | null> => (await frames.next()).value ?? null;
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    /** The next frame of any kind; null when the stream has ended. */
    frame,
    /** The next result; null when the stream has ended. */
    next: async (): Promise<Partial<Answer<Record<string, unknown> | null>> | null> => {
      for (let each = await frame(); each && each.event !== "complete"; each = await frame())
        if (each.event === "next") return JSON.parse(each.data);
      return null;
    },
    leave: () => sent.destroy(),
  };
}
