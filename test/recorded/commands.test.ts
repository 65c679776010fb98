import { expect, test } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { codesOf } from "../support/errors.ts";
import { startFake, type Told } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { type Line, readRecording } from "../support/replay.ts";

/** A recorded command has a body as well. */
interface Recorded extends Line {
  readonly body: string | null;
}

// Every line of this file has a body, be it null.
const lines = readRecording("0.2.0-writes") as readonly Recorded[];

const KINDS: Readonly<Record<string, string>> = {
  experiments: "Experiment",
  jobs: "Job",
  builds: "BuildJob",
  groups: "Group",
};

/** What a mutation is called after, by the method and the end of the path. */
const ON_A_RUN: Readonly<Record<string, (kind: string) => string>> = {
  "PATCH ": (kind) => `update${kind}`,
  "DELETE ": (kind) => `delete${kind}`,
  "POST restart": (kind) => `restart${kind}`,
  "POST resume": (kind) => `resume${kind}`,
  "POST copy": (kind) => `copy${kind}`,
  "POST stop": (kind) => `stop${kind}`,
  "POST metrics": (kind) => `create${kind}Metric`,
  "POST tensorboard/start": (kind) => `start${kind}Tensorboard`,
  "POST tensorboard/stop": (kind) => `stop${kind}Tensorboard`,
  "POST bookmark": (kind) => `bookmark${kind}`,
  "DELETE unbookmark": (kind) => `unbookmark${kind}`,
};
const ON_A_USER: Readonly<Record<string, string>> = {
  "POST users/activate": "activateUser",
  "DELETE users/delete": "deleteUser",
  "POST superusers/grant": "grantSuperuser",
  "DELETE superusers/revoke": "revokeSuperuser",
};

const RUN = /^([-\w]+)\/([-\w]+)\/(experiments|jobs|builds|groups)\/(\d+)(?:\/(.+))?$/;
const USER = /^(users\/activate|users\/delete|superusers\/grant|superusers\/revoke)\/([^/]+)$/;

const mutations = schema.getMutationType()?.getFields() ?? {};

/** A mutation of the schema that goes to the row of a recorded command. */
interface Aim {
  readonly name: string;
  /** Kind, address and number of the record; null for users. */
  readonly run: { readonly kind: string; readonly project: string; readonly id: string } | null;
  readonly username: string | null;
  /** The template as errors name it. */
  readonly route: string;
}

/** Where a slash at the end makes no difference. */
const trimmed = (path: string) => path.replace(/^\/api\/v1\//, "").replace(/\/$/, "");

function aimOf({ method, path }: Pick<Line, "method" | "path">): Aim | null {
  const end = trimmed(path);
  if (`${method} ${end}` === "POST users/token") {
    return { name: "login", run: null, username: null, route: "users/token" };
  }
  const [, place = "", username] = USER.exec(end) ?? [];
  const ofUser = ON_A_USER[`${method} ${place}`];
  if (ofUser && username) return { name: ofUser, run: null, username, route: `${place}/{username}` };
  const [, owner, project, list = "", id = "", act = ""] = RUN.exec(end) ?? [];
  const kind = KINDS[list] ?? "";
  const name = ON_A_RUN[`${method} ${act}`]?.(kind) ?? "";
  if (!(name in mutations)) return null;
  const route = `{owner}/{project}/${list}/{id}${act && `/${act}`}`;
  return { name, run: { kind, project: `${owner}/${project}`, id }, username: null, route };
}

/** A number that JavaScript reads and writes as it was sent. */
const isPlain = (number: string) => String(Number(number)) === number;

/** The mutation's input that makes this body; undefined when it takes none, null when there is no such input. */
function inputOf({ name }: Aim, { body, headers }: Recorded): object | null | undefined {
  const takesBody = /^(?:update|create|login)/.test(name);
  if (!takesBody) return body === null ? undefined : null;
  if (headers["Content-Type"] !== "application/json") return null;
  let sent: unknown;
  try {
    sent = JSON.parse(body ?? "");
  } catch {
    return null;
  }
  if (typeof sent !== "object" || sent === null) return null;
  const keys = Object.keys(sent).toSorted().join();
  if (name === "login") return keys === "password,username" ? sent : null;
  if (name.startsWith("update")) {
    const { description } = sent as { readonly description?: unknown };
    return keys === "description" && (typeof description === "string" || description === null) ? sent : null;
  }
  const { values } = sent as { readonly values?: unknown };
  if (keys !== "values" || typeof values !== "object" || values === null || Array.isArray(values))
    return null;
  const named = Object.entries(values).map(([metric, value]) => ({ name: metric, value }));
  const numbers = body?.match(/-?\d[\d.e+-]*/g) ?? [];
  const areNumbers = named.length > 0 && named.every(({ value }) => typeof value === "number");
  return areNumbers && numbers.every(isPlain) ? { values: named } : null;
}

/** A recorded command that the schema can express. */
interface Step {
  readonly line: Recorded;
  readonly aim: Aim;
  readonly input: object | undefined;
  /** The same person's look at the record right behind the command. */
  readonly look: Recorded | null;
}

type Verdict = Step | "a read" | "no such row" | "no such body" | "no token";

const tokenOf = ({ headers }: Line) => /^token (.+)$/.exec(headers["Authorization"] ?? "")?.[1] ?? null;

function verdictOn(line: Recorded, next: Recorded | undefined): Verdict {
  if (line.method === "GET") return "a read";
  const aim = aimOf(line);
  if (!aim) return "no such row";
  const input = inputOf(aim, line);
  if (input === null) return "no such body";
  if (tokenOf(line) === null && aim.name !== "login") return "no token";
  const record = trimmed(line.path).split("/").slice(0, 4).join("/");
  const isLook = next?.method === "GET" && trimmed(next.path) === record && tokenOf(next) === tokenOf(line);
  const look = next && isLook && next.status === 200 && line.status < 300 && isSilent(aim) ? next : null;
  return { line, aim, input, look };
}

/** Whether the document shows no answer, so that the record is read when it is selected. */
const isSilent = ({ name, run }: Aim) => run !== null && /^(?:stop|start|bookmark|unbookmark)/.test(name);

const verdicts = lines.map((line, index) => verdictOn(line, lines[index + 1]));
const script = verdicts.filter((verdict) => typeof verdict !== "string");

const count = (reason: Verdict) => verdicts.filter((verdict) => verdict === reason).length;

test("of the 380 recorded lines 145 are commands of 36 mutations, and 15 are looks behind them", () => {
  expect(new Set(script.map(({ aim }) => aim.name)).size).toBe(36);
  expect({
    done: script.filter(({ line }) => line.status < 300).length,
    refused: script.filter(({ line }) => line.status >= 400).length,
    looks: script.filter(({ look }) => look).length,
  }).toEqual({ done: 80, refused: 65, looks: 15 });
  const reasons = ["a read", "no such row", "no such body", "no token"] as const;
  expect(reasons.map(count)).toEqual([63, 45, 100, 27]);
  expect(lines).toHaveLength(380);
});

const fieldOf = (kind: string) => kind.replace(/^./, (letter) => letter.toLowerCase());
/** What is selected of a record, with the keys of the wire. */
const VALUES: Readonly<Record<string, string>> = {
  uniqueName: "unique_name",
  uuid: "uuid",
  name: "name",
  description: "description",
  rawStatus: "last_status",
  createdAt: "created_at",
  updatedAt: "updated_at",
  startedAt: "started_at",
  finishedAt: "finished_at",
  tags: "tags",
};
const SEEN_LATER: Readonly<Record<string, string>> = { ...VALUES, isBookmarked: "bookmarked" };

const valuesOf = (record: Readonly<Record<string, unknown>>, names: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(names).map(([field, key]) => [field, record[key]]));

/** The selection of a step, and what it must give. */
function taleOf({ line, aim, look }: Step): { readonly selection: string; readonly told: unknown } {
  const { name, run, username } = aim;
  // Records are objects; what is none is not looked into.
  const record = (look ?? line).json as Readonly<Record<string, unknown>>;
  if (name === "login") return { selection: "{ token }", told: record };
  if (name === "deleteUser") {
    return {
      selection: "{ deletedId }",
      told: { deletedId: globalId(`User:${username}`) },
    };
  }
  if (!run)
    return {
      selection: "{ user { id username } }",
      told: { user: { id: globalId(`User:${username}`), username } },
    };

  const { kind, project, id } = run;
  const field = fieldOf(kind);
  const own = globalId(`${kind}:${project}/${id}`);
  if (name.startsWith("delete")) {
    return {
      selection: "{ deletedId project { uniqueName } }",
      told: { deletedId: own, project: { uniqueName: project.replace("/", ".") } },
    };
  }
  if (name === "createExperimentMetric") {
    const values = Object.entries((record?.["values"] ?? {}) as object)
      .map(([metric, raw]) => ({ name: metric, raw }))
      .toSorted((a, b) => a.name.localeCompare(b.name));
    return {
      selection: "{ metric { internalId createdAt values { name raw } experiment { id } } }",
      told: {
        metric: {
          internalId: `${record?.["id"]}`,
          createdAt: record?.["created_at"],
          values,
          experiment: { id: own },
        },
      },
    };
  }
  if (isSilent(aim) && !look) return { selection: `{ ${field} { id } }`, told: { [field]: { id: own } } };

  const isClone = /^(?:restart|resume|copy)/.test(name);
  const names = isClone ? VALUES : SEEN_LATER;
  const selected = `${field} { id internalId ${Object.keys(names).join(" ")} user { username } }`;
  return {
    selection: `{ ${selected} }`,
    told: {
      [field]: {
        id: globalId(`${kind}:${project}/${record?.["id"]}`),
        internalId: `${record?.["id"]}`,
        ...valuesOf(record ?? {}, names),
        user: { username: record?.["user"] },
      },
    },
  };
}

/** The code and the message of a refusal, as they were decided. */
function refusalOf({ aim, line: { method, status, json } }: Step) {
  if (status === 405) {
    const message = `This server does not offer ${method} ${aim.route}, or failed at it.`;
    return { code: "UPSTREAM_UNSUPPORTED", message };
  }
  // All other refusals of these commands were recorded in this shape.
  const { detail } = json as { readonly detail: string };
  if (status === 404) {
    const name = aim.run
      ? `${aim.run.project}/${aim.route.split("/")[2]}/${aim.run.id}`
      : `username ${aim.username}`;
    return { code: "NOT_FOUND", message: `Not found: ${name.replaceAll("/", ".")}.` };
  }
  return { code: detail === "Invalid token." ? "UNAUTHENTICATED" : "FORBIDDEN", message: detail };
}

/** A whole answer; a slash at the end of the row makes no difference. */
const whole = ({ data, errors = [] }: Answer<unknown>) => ({
  data,
  errors: errors.map(({ path, message, extensions }) => {
    const { requestId: _, upstream, ...facts } = extensions;
    const { route, ...rest } = upstream as { readonly route: string };
    return {
      at: path,
      message: message.replace("/, or failed", ", or failed"),
      upstream: { ...rest, route: trimmed(route) },
      ...facts,
    };
  }),
});

/** The document that sends a step, and its variables. */
function operationOf({ aim: { name, run, username }, input }: Step, selection: string) {
  const inputType = mutations[name]?.args.find((arg) => arg.name === "input")?.type;
  const [declared, given] = run
    ? // A run that has ended is not stopped without it: the recorded commands are sent whatever its state.
      ["$id: ID!", /^stop\w+(?<!Tensorboard)$/.test(name) ? "id: $id, force: true" : "id: $id"]
    : username === null
      ? ["", ""]
      : ["$username: String!", "username: $username"];
  const withInput = input ? [`$input: ${inputType}`, "input: $input"] : ["", ""];
  return {
    query: `mutation (${declared} ${withInput[0]}) { done: ${name}(${given} ${withInput[1]}) ${selection} }`,
    variables: {
      ...(run ? { id: globalId(`${run.kind}:${run.project}/${run.id}`) } : {}),
      ...(username === null ? {} : { username }),
      ...(input ? { input } : {}),
    },
  };
}

/** A server that answers the n-th request as it answered the n-th of these, whatever is asked. */
function startInOrder(recorded: readonly Recorded[]) {
  let next = 0;
  return startFake((): Told => {
    const line = recorded[next++];
    if (!line) return { status: 599, text: "Nothing further was recorded." };
    const headers = { "content-type": line.responseHeaders["content-type"] ?? "" };
    if ("json" in line) return { status: line.status, headers, json: line.json };
    return { status: line.status, headers, text: line.text ?? "" };
  });
}

const sentBy = (method: string, path: string, headers: readonly unknown[], body: string | null) => ({
  sent: `${method} ${trimmed(path)}`,
  headers,
  body: body ? (JSON.parse(body) as unknown) : null,
});

test("a server that repeats them in order sees the recorded requests, and its answers are told as decided", async () => {
  const recorded = script.flatMap(({ line, look }) => (look ? [line, look] : [line]));
  const service = await startInOrder(recorded);
  const { ask } = await startGateway({ upstream: service, token: null, env: { UPSTREAM_RETRIES: "2" } });

  const answers = [];
  for (const step of script) {
    const { query, variables } = operationOf(step, taleOf(step).selection);
    const answer = await ask(query, variables, { token: tokenOf(step.line) });
    answers.push({ case: step.line.case, ...whole(answer) });
  }

  expect(answers).toEqual(
    script.map((step) => {
      const { method, status, case: name } = step.line;
      if (status < 300) return { case: name, data: { done: taleOf(step).told }, errors: [] };
      const upstream = { method, route: step.aim.route, status };
      return { case: name, data: { done: null }, errors: [{ at: ["done"], upstream, ...refusalOf(step) }] };
    }),
  );
  expect(
    service
      .seen()
      .map(({ method, path, headers: { authorization, "content-type": type }, body }) =>
        sentBy(method, path, [authorization, type], body),
      ),
  ).toEqual(
    recorded.map(({ method, path, headers: { Authorization, "Content-Type": type }, body }) =>
      sentBy(method, path, [Authorization, type], body),
    ),
  );
});

test("what the server refused for want of a token the gateway refuses itself", async () => {
  const service = await startFake(() => ({ json: { id: 1 } }));
  const { ask } = await startGateway({ upstream: service, token: null });
  const unsigned = lines.filter((_, index) => verdicts[index] === "no token");
  for (const line of unsigned) {
    const aim = aimOf(line);
    const input = aim && inputOf(aim, line);
    if (!aim || input === null) throw new TypeError(`${line.case} is no command`);
    const { query, variables } = operationOf({ line, aim, input, look: null }, "{ __typename }");
    const answer = await ask<unknown, unknown>(query, variables);
    expect([line.case, answer.data, codesOf(answer)]).toEqual([
      line.case,
      { done: null },
      ["UNAUTHENTICATED"],
    ]);
    expect(line).toMatchObject({
      status: 403,
      json: { detail: "Authentication credentials were not provided." },
    });
  }
  expect(service.seen()).toEqual([]);
});
