import { describe, expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { opaque } from "../support/ids.ts";
import { watchWindows } from "../support/watched-window.ts";

interface Window {
  readonly text: string;
  readonly lines: readonly string[];
  readonly startByte: number;
  readonly endCursor: string;
  readonly hasMore: boolean;
}
type Logs = Answer<{ experiment: { logs: Window | null } }>;

const READ = `query ($after: String, $maxBytes: Int) {
  experiment(id: "ada.mnist.42") {
    logs(after: $after, maxBytes: $maxBytes) { text lines startByte endCursor hasMore }
  }
}`;

/** A gateway before a service that has one log. `write` replaces it. */
async function startLog(text: string) {
  let log = text;
  const service = await startFake(() => ({ text: log }));
  const { ask } = await startGateway({ upstream: service });
  return {
    ask,
    write: (next: string) => {
      log = next;
    },
    read: async (wanted: { after?: string; maxBytes?: number } = {}): Promise<Window> => {
      const { data, errors } = (await ask(READ, wanted)) as Logs;
      if (!data.experiment.logs) throw new Error(`no log: ${JSON.stringify(errors)}`);
      return data.experiment.logs;
    },
  };
}

const cursorAt = (byte: number | string) => opaque(`byte:${byte}`);

describe("the cursor of a log", () => {
  test.each([4, 5, 1_000, 999_999_999_999_999])(
    "stands at the log's end when the window begins at %i, at its end or behind it",
    async (byte) => {
      const log = await startLog("one\n");
      expect(await log.read({ after: cursorAt(byte) })).toEqual({
        text: "",
        lines: [],
        startByte: 4,
        endCursor: cursorAt(4),
        hasMore: false,
      });
    },
  );

  test.each(["1e3", "-1", " 4", "4.0", "0x10", "٤", "9".repeat(16), "4\n"])(
    "is refused when it holds %j",
    async (byte) => {
      const { ask } = await startLog("one\n");
      const { errors } = (await ask(READ, { after: cursorAt(byte) })) as Logs;
      expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["BAD_USER_INPUT"]);
    },
  );
});

test("a window of nothing but line ends has as many lines, whoever asks for them", async () => {
  const { ask } = await startLog("\n".repeat(50_000));
  const lines = `logs(maxBytes: 40000) { lines }`;
  const { data } = (await ask(
    `{ a: experiment(id: "ada.mnist.42") { ${lines} } b: experiment(id: "ada.mnist.42") { ${lines} } }`,
  )) as Answer<Record<"a" | "b", { logs: Window }>>;
  const empty = Array<string>(40_000).fill("");
  expect(data).toEqual({ a: { logs: { lines: empty } }, b: { logs: { lines: empty } } });
});

const MEGABYTE = 1_048_576;

/** Far more than a window, far less than the log: the collector frees buffers by the way, and some wait for it. */
const ENOUGH = 32;

// Not through the door: what is held meanwhile can be seen only between two pieces.
describe("a window holds little more than its bytes", () => {
  const watch = watchWindows();
  /** 128 megabytes. */
  const long = { pieces: "ofSocket", count: 128 * 16 } as const;

  test("behind a long part of the log that it skips", async () => {
    const { window, megabytes } = await watch({
      ...long,
      wanted: { fromByte: 127 * MEGABYTE, maxBytes: 8 },
    });
    expect(window).toMatchObject({ text: "lin\nlin\n", startByte: 127 * MEGABYTE, hasMore: true });
    expect(megabytes).toBeLessThan(ENOUGH);
  });

  test("behind the end of the log", async () => {
    const { window, megabytes } = await watch({ ...long, wanted: { fromByte: 1e12, maxBytes: 8 } });
    expect(window).toMatchObject({ text: "", startByte: 128 * MEGABYTE, endByte: 128 * MEGABYTE });
    expect(megabytes).toBeLessThan(ENOUGH);
  });

  test("at the end of a long log", async () => {
    const { window, megabytes } = await watch({ ...long, wanted: { tailLines: 2, maxBytes: 65_536 } });
    expect(window).toMatchObject({ text: "lin\nlin\n", endByte: 128 * MEGABYTE });
    expect(megabytes).toBeLessThan(ENOUGH);
  });

  test.each([
    ["from its start", { fromByte: 0, maxBytes: 8_000 }],
    ["from its end", { tailLines: 5_000, maxBytes: 8_000 }],
  ])("of a log that comes in small views of large buffers, %s", async (_, wanted) => {
    const { window, megabytes } = await watch({ pieces: "crumbs", count: 8_000, wanted });
    expect(window.text).toBe("lin\n".repeat(2_000));
    expect(megabytes).toBeLessThan(ENOUGH);
  });
});
