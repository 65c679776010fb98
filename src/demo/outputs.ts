import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";

import { pack } from "tar-stream";

import { readable } from "./access.ts";
import type { Handler } from "./exchange.ts";
import { file } from "./file.ts";
import type { Kind } from "./kinds.ts";
import { type Experiment, type Job, lastStatus } from "./model.ts";
import { timestamp, uniqueName } from "./wire.ts";

/** Answers the files of a run as a tar.gz archive, below a folder with the run's name. */
export function outputs<R extends Experiment | Job>(
  kind: Kind<R>,
  filesOf: (run: R) => Readonly<Record<string, string>>,
): Handler {
  return async (exchange) => {
    const run = readable(exchange, kind);
    const folder = uniqueName(run).replaceAll(".", "_");
    const archive = pack();
    for (const [name, text] of Object.entries(filesOf(run))) {
      archive.entry({ name: `${folder}/${name}`, mtime: new Date(run.updatedAt) }, text);
    }
    archive.finalize();
    return file(await buffer(archive.pipe(createGzip())), exchange.headers, {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename=${folder}.tar.gz`,
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
  };
}

export function jobFiles(job: Job): Record<string, string> {
  return { "README.txt": readme(job) };
}

function readme(run: Experiment | Job): string {
  return `Outputs of ${uniqueName(run)} (${lastStatus(run)}).\nCommand: ${run.recipe.cmd}\n`;
}
