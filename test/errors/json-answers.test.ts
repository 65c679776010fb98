import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { firstCodeOf } from "../support/one-read.ts";

/** What is said of an answer that is no JSON. */
const NO_JSON = "The service's answer is no JSON.";

/** A gateway in front of a service that answers as told, and with a good record for experiment 7. */
async function start() {
  let told: Buffer = Buffer.from("");
  const service = await startFake(({ path }) => ({
    text: path.includes("/7/") ? '{"id": 7, "name": "good"}' : told,
    headers: { "content-type": "application/json" },
  }));
  const { ask } = await startGateway({ upstream: service });

  interface Experiment {
    readonly name: string | null;
    readonly declarations: unknown;
  }
  const read = async (id: number, bytes: Buffer) => {
    told = bytes;
    const query = `{ experiment(id: "ada.mnist.${id}") { name declarations } }`;
    return (await ask(query)) as Answer<{ readonly experiment: Experiment | null }>;
  };

  /** What is read of a text that is the value of a key. */
  const valueOf = async (bytes: Buffer) => {
    const text = Buffer.concat([Buffer.from('{"id": 2, "declarations": '), bytes, Buffer.from("}")]);
    const answer = await read(2, text);
    return answer.errors ? firstCodeOf(answer) : { value: answer.data.experiment?.declarations };
  };

  return {
    valueOf,
    outcomeOf: async (text: string | Buffer) => {
      const bytes = typeof text === "string" ? Buffer.from(text) : text;
      const whole = await read(1, bytes);
      const code = firstCodeOf(whole);
      const isJson = whole.errors?.[0]?.message !== NO_JSON;
      return {
        text: bytes.toString().slice(0, 60),
        /** What the whole answer is taken for: mostly it is no record. */
        whole: code !== "ok" && code !== "UPSTREAM_BAD_RESPONSE" ? code : isJson ? "JSON" : "no JSON",
        value: await valueOf(bytes),
        next: (await read(7, Buffer.from(""))).data.experiment?.name,
      };
    },
  };
}

/** JSON as the caller gets it: a number that is too large is null. */
const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const readAs = (value: unknown) => ({
  text: expect.any(String) as string,
  whole: "JSON",
  value: { value: throughJson(value) },
  next: "good",
});

const refused = {
  text: expect.any(String) as string,
  whole: "no JSON",
  value: "UPSTREAM_BAD_RESPONSE",
  next: "good",
};

const readOrRefused = {
  text: expect.any(String) as string,
  whole: expect.stringMatching(/JSON$/) as string,
  value: expect.toSatisfy(
    (value) => typeof value === "object" || value === "UPSTREAM_BAD_RESPONSE",
  ) as unknown,
  next: "good",
};

const READ = [
  // Words, and what may stand around them.
  ..."null|true|false| true |\t\r\n[\n\t1 ,\r2 ]\n".split("|"),
  // Numbers.
  ..."0|-0|7|-7|10|0.5|-0.25|1e5|1E5|1e+5|1e-5|1.5E-3|0e0|0e+1|123456789012345678901234567890|4.9e-324".split(
    "|",
  ),
  // Texts.
  ...String.raw`""|" "|"a b"|"\"\\\/\b\f\n\r\t"|"\u0041\u00e9\u20AC"|"\uD83D\uDE00"|"\u0000\u007f"|"é€😀"|"\\\""`.split(
    "|",
  ),
  '"\u2028\u2029\u007F\uFFFF"',
  // Lists and objects.
  ...'[]|[ ]|[[]]|[1]|[1,2]|[null,true,"x",{}]|{}|{ }|{"":0}|{"a":{"b":[]}}|{"a":1,"a":2}|{"a" : 1 , "b":2}'.split(
    "|",
  ),
  '{"NaN": "NaN", "Infinity": ["-Infinity"]}',
  String.raw`["\"NaN", "\\", "Infinity\\\"NaN"]`,
];

const REFUSED = [
  // Nothing, or words that are none.
  ..."| |nul|nulll|True|NULL|undefined|none|truefalse|tru e|nan|inf|+Infinity|+NaN|--Infinity|Infinit|NaNN|xNaN|Na N".split(
    "|",
  ),
  // Numbers.
  ..."+1|01|-01|00|1.|.5|-.5|-|--1|1e|1e+|1E-|1.e1|1,5|0x10|1_000|1e1.5|- 1|1 2|1-1|２|1NaN|NaN1|-Infinity-".split(
    "|",
  ),
  // Texts.
  ...String.raw`"|"a|a"|'a'|"\"|"\a"|"\x41"|"\u"|"\u12"|"\u12G4"|"\'"|"a""b"|\"a\"|“a”`.split("|"),
  '"a\nb"',
  '"a\tb"',
  '"\u0000"',
  '"\u001F"',
  '"NaN',
  // Lists and objects.
  ..."[|]|[,]|[1,]|[,1]|[1,,2]|[1 2]|[1;2]|[1]]|[[1]|[1}|[1:2]|(1)|[1,#]|[...]".split("|"),
  ...'{|}|{,}|{a:1}|{\'a\':1}|{1:1}|{null:1}|{NaN:1}|{"a"}|{"a":}|{"a",1}|{"a":1,}|{,"a":1}'.split("|"),
  ...'{"a":1 "b":2}|{"a"::1}|{"a":1:2}|{"a":1}}|{"a":[1}]|{[]:1}|{"a":1,,"b":2}|{"a":"b":"c"}'.split("|"),
  // More than one value, comments, markup.
  ..."[][]|{}{}|1,2|{} x|[]/**/|//\n[]|/**/1|#1\n1|<null>|*|@|`1`|\\u0031".split("|"),
  // White space of other kinds, and bytes that are no text.
  "\u00A0[]",
  "[\u2060]",
  "[\f1]",
  "1\u0000",
  Buffer.from([0x5b, 0xff, 0x5d]),
  Buffer.from([0xe9]),
  Buffer.from("[1]", "utf16le"),
  "[".repeat(20_000),
  '{"a":'.repeat(20_000),
  '[{"":'.repeat(20_000),
];

/** What other parsers disagree about. */
const EITHER = [
  ..."1e400|-1e400|1e-400|0.1e99999999999999|-123123123123123123123123123123".split("|"),
  ...String.raw`"\uD800"|"\uDC00\uD800"|"\uD800\u0041"|"\uDd1ea"`.split("|"),
  "\uFEFF{}",
  "\uFEFF",
  Buffer.from([0x22, 0xff, 0x22]),
  Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
  Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
  Buffer.from([0x22, 0xe9, 0x22]),
  Buffer.from('\uFEFF["é"]', "utf16le"),
  "[".repeat(500) + "]".repeat(500),
];

describe("an answer of the service", () => {
  test("is read when it is JSON", async () => {
    const { outcomeOf } = await start();
    for (const text of READ) expect(await outcomeOf(text)).toEqual(readAs(JSON.parse(text)));
  });

  test("is UPSTREAM_BAD_RESPONSE when it is no JSON, and the next one is read", async () => {
    const { outcomeOf } = await start();
    for (const text of REFUSED) expect(await outcomeOf(text)).toEqual(refused);
  });

  test("is read or UPSTREAM_BAD_RESPONSE where parsers disagree", async () => {
    const { outcomeOf } = await start();
    for (const text of EITHER) expect(await outcomeOf(text)).toEqual(readOrRefused);
  });

  test.each(["NaN", "-NaN", "Infinity", "-Infinity"])("reads %s as null, as an extension", async (text) => {
    const { outcomeOf } = await start();
    expect(await outcomeOf(text)).toEqual(readAs(null));
    expect(await outcomeOf(`[${text},"${text}", ${text} ]`)).toEqual(readAs([null, text, null]));
    expect(await outcomeOf(`{"${text}":${text}}`)).toEqual(readAs({ [text]: null }));
  });

  test("has null wherever NaN and its kin stand for a value, and every text as it was", async () => {
    const { valueOf } = await start();
    const WORDS = ["NaN", "Infinity", "-Infinity"];
    const word = fc.constantFrom(...WORDS).map((written) => ({ written, value: null }));
    const leaf = fc.oneof(
      fc.oneof(fc.string(), fc.constantFrom(...WORDS, '\\"NaN', "\\")).map(written),
      fc.integer().map(written),
      word,
    );
    const tree = fc.letrec<{ any: Written }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie("any"), { maxLength: 5 }).map((items) => ({
          written: `[${items.map((item) => item.written).join(",")}]`,
          value: items.map(({ value }) => value),
        })),
        fc
          .dictionary(fc.constantFrom(...WORDS, "a", '"'), tie("any"), { noNullPrototype: true })
          .map((keys) => ({
            written: `{${Object.entries(keys)
              .map(([key, item]) => `${JSON.stringify(key)}: ${item.written}`)
              .join(", ")}}`,
            value: Object.fromEntries(Object.entries(keys).map(([key, item]) => [key, item.value])),
          })),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(tree.any, async ({ written: text, value }) => {
        expect(await valueOf(Buffer.from(text))).toEqual({ value });
      }),
      { numRuns: cases(100, 1_000) },
    );
  });
});

interface Written {
  readonly written: string;
  readonly value: unknown;
}

const written = (value: unknown): Written => ({ written: JSON.stringify(value), value });

/** The folder `test_parsing` of a clone of https://github.com/nst/JSONTestSuite. */
const SUITE = process.env["JSON_TEST_SUITE"] ?? "";

/** The files that are read because NaN and Infinity are. */
const EXTENSIONS: ReadonlySet<string> = new Set(
  ["-NaN", "NaN", "infinity", "minus_infinity"].map((name) => `n_number_${name}.json`),
);

test.skipIf(!existsSync(SUITE))("JSONTestSuite holds for answers of the service", async () => {
  const { outcomeOf } = await start();
  const files = readdirSync(SUITE);
  expect(files.length).toBeGreaterThan(300);
  for (const file of files) {
    const bytes = readFileSync(join(SUITE, file));
    const expected = file.startsWith("y_")
      ? readAs(JSON.parse(bytes.toString()))
      : EXTENSIONS.has(file)
        ? readAs([null])
        : file.startsWith("n_")
          ? refused
          : readOrRefused;
    expect({ file, ...(await outcomeOf(bytes)) }).toEqual({ file, ...expected });
  }
});
