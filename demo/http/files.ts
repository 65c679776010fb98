import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

import type { Kind } from "../kinds.ts";
import { timestamp, uniqueName } from "../records.ts";
import { isFinal, lastStatus, spanOf } from "../statuses.ts";
import type { Build, Experiment, Job, Run, Store } from "../store.ts";
import { findReadable } from "./accounts.ts";
import { type DemoRequest, type DemoResponse, type Handler, HttpError, json } from "./messages.ts";
import { replicaOf } from "./reads.ts";

/** The log line with the given number, written at the given time. */
type LineText<R extends Run> = (run: R, line: number, at: number) => string;

export function log<R extends Run>(kind: Kind<R>, text: LineText<R>): Handler {
  return (request) => logOf(request.store, findReadable(request, kind), text);
}

/**
 * The whole log of a run up to now: one line for each log interval while it runs, and how it ended.
 * A line that has been written does not change. A run that never ran has no log.
 */
function logOf<R extends Run>(store: Store, run: R, text: LineText<R>): DemoResponse {
  const { startedAt, finishedAt } = spanOf(run.statuses);
  if (startedAt === null) throw new HttpError(404, "Log file not found");
  const length = Math.floor(((finishedAt ?? store.time) - startedAt) / run.logInterval) + 1;
  const lines = Array.from({ length }, (_, line) => {
    const at = startedAt + line * run.logInterval;
    return `${clock(at)} ${text(run, line, at)}\n`;
  });
  return {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-disposition": `attachment; filename=${run.id}`,
    },
    body: lines.join("") + ending(run),
  };
}

/** The last lines of a run that has ended; the reason for a failure has no time stamp. */
function ending(run: Run): string {
  const end = run.statuses.find(({ status }) => isFinal(status));
  if (!end) return "";
  const reason = end.message ? `Traceback (most recent call last):\n  ${end.message}\n` : "";
  return `${reason}${clock(end.at)} ${uniqueName(run)} ${end.status}\n`;
}

function clock(at: number): string {
  return new Date(at).toISOString().replace("Z", "000Z");
}

/** An experiment logs its metrics after each epoch and its progress in between. */
export function experimentLine(experiment: Experiment, line: number, at: number): string {
  if (line === 0) return `$ ${experiment.config.cmd}`;
  if (line === 1) return `parameters ${JSON.stringify(experiment.declarations ?? {})}`;
  if (experiment.remark && line % 25 === 0) return experiment.remark;
  const done = experiment.metrics.filter((metric) => metric.at < at);
  const last = done.at(-1);
  if (last && last.at >= at - experiment.logInterval) {
    const values = Object.entries(last.values).map(([name, value]) => `${name}=${String(value)}`);
    return `epoch ${done.length} ${values.join(" ")}`;
  }
  return `epoch ${done.length + 1} batch ${(line * 37) % 500}/500`;
}

export function jobLine(job: Job, line: number): string {
  return line === 0 ? `$ ${job.config.cmd}` : `chunk ${line}: ${512 + ((line * 89) % 256)} records written`;
}

export function buildLine(build: Build, line: number): string {
  const { image, steps } = build.config;
  const instructions = [`FROM ${image}`, ...steps.map((step) => `RUN ${step}`), "COPY build /code"];
  const instruction = instructions[line];
  if (instruction) return `Step ${line + 1}/${instructions.length} : ${instruction}`;
  return ` ---> pushed layer ${line - instructions.length + 1}`;
}

export function experimentJobLog(request: DemoRequest): DemoResponse {
  const { experiment, replica } = replicaOf(request);
  return logOf(request.store, experiment, (run, line, at) => {
    return `${replica.role} on ${replica.node}: ${experimentLine(run, line, at)}`;
  });
}

/** The contents of the files of a run, by their paths. */
type FilesOf<R> = (run: R) => Readonly<Record<string, string>>;

/** Responds with the files of a run as a tar.gz archive, below a folder with the run's name. */
export function outputs<R extends Experiment | Job>(kind: Kind<R>, filesOf: FilesOf<R>): Handler {
  return async (request) => {
    const run = findReadable(request, kind);
    const folder = uniqueName(run).replaceAll(".", "_");
    const files = Object.entries(filesOf(run)).map(([name, text]) => [`${folder}/${name}`, text]);
    // Loaded on the first download.
    const { archiveOf } = await import("./archive.ts");
    return fileResponse(await archiveOf(Object.fromEntries(files), run.updatedAt), request.headers, {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename=${folder}.tar.gz`,
    });
  };
}

/** Responds with the names in one folder of the files of a run. */
export function outputFolder<R extends Experiment | Job>(kind: Kind<R>, filesOf: FilesOf<R>): Handler {
  return (request) => {
    const path = request.query.get("path") ?? "";
    const above = path === "" ? "" : `${path}/`;
    const inside = Object.entries(filesOf(findReadable(request, kind))).flatMap(([name, text]) =>
      name.startsWith(above) ? [{ names: name.slice(above.length).split("/"), text }] : [],
    );
    if (inside.length === 0)
      throw new HttpError(400, ["Experiment outputs path does not exists or bad configuration."]);
    const folders = inside.flatMap(({ names: [first], names: { length } }) => (length > 1 ? [first] : []));
    const files = inside.flatMap(({ names: [first, ...rest], text }) =>
      rest.length === 0 ? [[first, Buffer.byteLength(text)]] : [],
    );
    return json(200, { dirs: [...new Set(folders)], files });
  };
}

/** Responds with one file of a run. */
export function outputFile<R extends Experiment | Job>(kind: Kind<R>, filesOf: FilesOf<R>): Handler {
  return (request) => {
    const path = request.query.get("path");
    if (!path) throw new HttpError(400, ["Files view expect a path to the file."]);
    const run = findReadable(request, kind);
    const text = new Map(Object.entries(filesOf(run))).get(path);
    if (text === undefined) {
      const folder = uniqueName(run).replaceAll(".", "/");
      throw new HttpError(404, `File not found: file_path=/plx/outputs/${folder}/${path}`);
    }
    return fileResponse(Buffer.from(text), request.headers, {
      "content-type": "text/plain",
      "content-disposition": `attachment; filename=${path.replace(/^.*\//, "")}`,
    });
  };
}

export function experimentFiles(experiment: Experiment): Record<string, string> {
  const names = [...new Set(experiment.metrics.flatMap(({ values }) => Object.keys(values)))];
  const rows = experiment.metrics.map(({ at, values }) => {
    return [timestamp(at), ...names.map((name) => JSON.stringify(values[name]) ?? "")].join(",");
  });
  return {
    "metrics.csv": `${[["created_at", ...names].join(","), ...rows].join("\n")}\n`,
    "params.json": `${JSON.stringify(experiment.declarations ?? {}, null, 2)}\n`,
    "README.txt": readme(experiment),
    ...Object.fromEntries(
      experiment.metrics
        .slice(-3)
        .map(({ id, values }) => [`checkpoints/${id}.json`, `${JSON.stringify(values)}\n`]),
    ),
  };
}

export function jobFiles(job: Job): Record<string, string> {
  return { "README.txt": readme(job) };
}

function readme(run: Experiment | Job): string {
  return `Outputs of ${uniqueName(run)} (${lastStatus(run)}).\nCommand: ${run.config.cmd}\n`;
}

/** Responds with a file as the web server in front of real servers does: with its length, an entity tag, and one range. */
function fileResponse(
  bytes: Buffer,
  { range, "if-range": validator }: IncomingHttpHeaders,
  headers: Readonly<Record<string, string>>,
): DemoResponse {
  const etag = `"${createHash("sha1").update(bytes).digest("hex")}"`;
  const common = { ...headers, etag, "accept-ranges": "bytes" };
  const whole = {
    status: 200,
    headers: { ...common, "content-length": String(bytes.length) },
    body: bytes,
  };
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(range ?? "") ?? [];
  if (first === "" && last === "") return whole;
  if (validator !== undefined && validator !== etag) return whole;
  const start = first === "" ? Math.max(0, bytes.length - Number(last)) : Number(first);
  const end = first === "" || last === "" ? bytes.length : Math.min(bytes.length, Number(last) + 1);
  if (start >= end)
    return { status: 416, headers: { ...common, "content-range": `bytes */${bytes.length}` }, body: "" };
  return {
    status: 206,
    headers: {
      ...common,
      "content-length": String(end - start),
      "content-range": `bytes ${start}-${end - 1}/${bytes.length}`,
    },
    body: bytes.subarray(start, end),
  };
}
