import { createHash } from "node:crypto";

import type { Code, Experiment, Project, Run, Status } from "./store.ts";

// Keys that release 0.4.4 sends besides the keys of the service's document.

/** 32 hexadecimal digits, the same for the same record in every demo service. */
export function uuid(series: string, id: number): string {
  return createHash("md5").update(`${series} ${id}`).digest("hex");
}

export const podName = (series: string, id: number): string =>
  `${series.replace(" ", "-")}-${uuid(series, id)}`;

const sha1 = (text: string): string => createHash("sha1").update(text).digest("hex");

/** The commit at the head of a project's code. */
export const headOf = ({ name }: Project): string => sha1(`head of ${name}`);

/** The data that runs of a project read. */
export const dataRefsOf = ({ name }: Project) => ({ [name]: sha1(`data of ${name}`) });

/** Images have their framework in their name. */
export const frameworkOf = ({ config }: Experiment): string | null =>
  /^(pytorch|tensorflow)\//.exec(config.image)?.[1] ?? null;

/** The environment that the code of an experiment reports when it starts; null before the start. */
export function runEnvOf({ config, statuses }: Experiment) {
  if (!statuses.some(({ status }) => status === "running")) return null;
  const installed = config.steps.flatMap((step) => /pip install (.*)/.exec(step)?.[1]?.split(" ") ?? []);
  return {
    os: "Linux-4.15.0-x86_64",
    python_version: "3.6.6",
    packages: installed.filter((word) => !word.startsWith("-")),
  };
}

/** The record of a code reference. For an experiment without code, its strings are empty. */
export function codeReferenceRecord(code: Code | null) {
  return code
    ? {
        id: code.id,
        branch: code.branch,
        commit: code.commit,
        head: code.head,
        is_dirty: code.isDirty,
        git_url: null,
        repo: 1,
        external_repo: null,
      }
    : { branch: "", commit: "", head: "", is_dirty: false, git_url: "", repo: null, external_repo: null };
}

/** The traceback that Python prints when a training fails; null for other runs, which fail outside of Python. */
export function tracebackOf({ kind }: Pick<Run, "kind">, { status, message }: Status): string | null {
  if (kind !== "experiment" || status !== "failed" || message === null) return null;
  return [
    "Traceback (most recent call last):",
    '  File "train.py", line 118, in <module>',
    "    main(parse_args())",
    '  File "train.py", line 91, in main',
    "    loss = train_epoch(model, batches, optimizer)",
    '  File "train.py", line 57, in train_epoch',
    "    output = model(images.cuda())",
    message,
  ].join("\n");
}

/** The definition of the pod in which a job of an experiment runs. */
export const podDefinition = (name: string, { config }: Experiment, node: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { nodeName: node, containers: [{ image: config.image, command: config.cmd.split(" ") }] },
});
