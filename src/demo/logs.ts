import { readable } from "./access.ts";
import { type Answer, type Handler, Refusal } from "./exchange.ts";
import type { Kind } from "./kinds.ts";
import { type Build, type Experiment, isFinal, type Job, type Run, span } from "./model.ts";
import type { World } from "./store.ts";
import { uniqueName } from "./wire.ts";

/** What a run says in the line of the given number, written at the given time. */
type Tell<R extends Run> = (run: R, line: number, at: number) => string;

export function log<R extends Run>(kind: Kind<R>, tell: Tell<R>): Handler {
  return (exchange) => {
    const run = readable(exchange, kind);
    return logOf(exchange.world, run, tell);
  };
}

/**
 * The whole log of a run up to now: one line for each beat of its pace while it runs, and how it ended.
 * What has been written stays as it is. A run that never ran has no log.
 */
export function logOf<R extends Run>(world: World, run: R, tell: Tell<R>): Answer {
  const { startedAt, finishedAt } = span(run.statuses);
  if (startedAt === null) throw new Refusal(404, "Log file not found");
  const length = Math.floor(((finishedAt ?? world.time) - startedAt) / run.pace) + 1;
  const lines = Array.from({ length }, (_, line) => {
    const at = startedAt + line * run.pace;
    return `${clock(at)} ${tell(run, line, at)}\n`;
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

/** The last lines of a run that has ended; the reason of a failure has no time stamp. */
function ending(run: Run): string {
  const end = run.statuses.find(({ status }) => isFinal(status));
  if (!end) return "";
  const reason = end.message ? `Traceback (most recent call last):\n  ${end.message}\n` : "";
  return `${reason}${clock(end.at)} ${uniqueName(run)} ${end.status}\n`;
}

function clock(at: number): string {
  return new Date(at).toISOString().replace("Z", "000Z");
}

/** An experiment tells its measures after each epoch and its progress in between. */
export function tellExperiment(experiment: Experiment, line: number, at: number): string {
  if (line === 0) return `$ ${experiment.recipe.cmd}`;
  if (line === 1) return `parameters ${JSON.stringify(experiment.declarations ?? {})}`;
  if (experiment.remark && line % 25 === 0) return experiment.remark;
  const done = experiment.metrics.filter((metric) => metric.at < at);
  const last = done.at(-1);
  if (last && last.at >= at - experiment.pace) {
    const values = Object.entries(last.values).map(([name, value]) => `${name}=${String(value)}`);
    return `epoch ${done.length} ${values.join(" ")}`;
  }
  return `epoch ${done.length + 1} batch ${(line * 37) % 500}/500`;
}

export function tellJob(job: Job, line: number): string {
  return line === 0 ? `$ ${job.recipe.cmd}` : `chunk ${line}: ${512 + ((line * 89) % 256)} records written`;
}

export function tellBuild(build: Build, line: number): string {
  const { image, steps } = build.recipe;
  const instructions = [`FROM ${image}`, ...steps.map((step) => `RUN ${step}`), "COPY build /code"];
  const instruction = instructions[line];
  if (instruction) return `Step ${line + 1}/${instructions.length} : ${instruction}`;
  return ` ---> pushed layer ${line - instructions.length + 1}`;
}
