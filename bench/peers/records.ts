import { createHash } from "node:crypto";

/*
 * The records of the static service, the same in every run: 60 experiments of one project, with their builds, groups and machines. They
 * have the fields that the upstream API documents, and realistic sizes.
 */

const PROJECT = "root.quick-start";
const EXPERIMENTS = 60;
const BUILDS = 10;
const GROUPS = 3;
const MACHINES = 4;

const hex = (seed: string, length = 32) => createHash("sha256").update(seed).digest("hex").slice(0, length);
const time = (seconds: number) =>
  new Date(1_530_000_000_000 + seconds * 1_000).toISOString().replace("Z", "123+02:00");
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

const IMAGE = "tensorflow/tensorflow:1.4.1-py3";
const STEPS = [
  "pip3 install --no-cache-dir -U polyaxon-helper==0.3.7",
  "pip3 install scikit-learn==0.20.2 numpy==1.16.1",
  "apt-get update && apt-get install -y libsm6 libxext6",
];
const DOCKERFILE = numbers(4)
  .flatMap(() => [
    `FROM ${IMAGE}`,
    "ENV LC_ALL en_US.UTF-8",
    "ENV NVIDIA_VISIBLE_DEVICES all",
    "WORKDIR /code",
    ...STEPS.map((step) => `RUN ${step}`),
  ])
  .join("\n");
const CONTENT = `---
version: 1
kind: group
hptuning:
  concurrency: 5
  random_search:
    n_experiments: 20
  matrix:
    learning_rate:
      linspace: 0.001:0.1:5
    dropout:
      values: [0.25, 0.3]
    activation:
      values: [relu, sigmoid]
build:
  image: ${IMAGE}
  build_steps:
${STEPS.map((step) => `    - ${step}`).join("\n")}
run:
  cmd: python3 model.py --batch_size=128 --num_steps=500 --learning_rate={{ learning_rate }} --dropout={{ dropout }}
`;

const page = <Item>(results: readonly Item[]) => ({
  count: results.length,
  next: null,
  previous: null,
  results,
});

/** Number of builds that experiments share: five for the first 60, ten for experiments that only lists have. */
const buildsBy = (id: number) => (id <= EXPERIMENTS ? 5 : BUILDS);

export const experiment = (id: number) => ({
  id,
  uuid: hex(`experiment ${id}`),
  name: id % 3 === 0 ? `experiment-${id}` : null,
  unique_name: `${PROJECT}.${id}`,
  user: "root",
  description: `Experiment number ${id} of the quick start project`,
  created_at: time(id * 60),
  updated_at: time(id * 60 + 400),
  started_at: time(id * 60 + 30),
  finished_at: time(id * 60 + 390),
  last_status: "succeeded",
  original: null,
  project: PROJECT,
  experiment_group: `${PROJECT}.${(id % GROUPS) + 1}`,
  build_job: `${PROJECT}.builds.${(id % buildsBy(id)) + 1}`,
  tags: null,
  config: {
    build: { image: IMAGE, build_steps: STEPS },
    version: 1,
    kind: "experiment",
    run: { cmd: "python3 model.py --batch_size=128 --num_steps=500 --learning_rate=0.02575 --dropout=0.25" },
  },
  declarations: null,
  resources: null,
  last_metric: { accuracy: 0.9742, loss: Number((0.0791 + id / 1_000).toFixed(4)), precision: 0.9995 },
  num_jobs: 1,
  is_clone: false,
  has_tensorboard: null,
  bookmarked: id % 2 === 0,
});

const statuses = (id: number) =>
  page(
    ["created", "building", "scheduled", "starting", "running", "succeeded"].map((status, index) => ({
      id: id * 10 + index,
      uuid: hex(`status ${id} ${index}`),
      created_at: time(id * 60 + index * 50),
      message: status === "running" ? "Job is running" : null,
      status,
      experiment: id,
    })),
  );

const metrics = (id: number) =>
  page(
    numbers(30).map((step) => ({
      id: id * 100 + step,
      created_at: time(id * 60 + step * 10),
      values: {
        accuracy: Number((0.485 + step * 0.015).toFixed(4)),
        loss: Number((2.3 / step).toFixed(4)),
        precision: Number((0.3825 + step * 0.0175).toFixed(4)),
      },
      experiment: id,
    })),
  );

const experimentJobs = (id: number) =>
  page([
    {
      id: id * 2,
      uuid: hex(`job ${id}`),
      unique_name: `${PROJECT}.${id}.${id * 2}.master`,
      role: "master",
      experiment: id,
      last_status: "succeeded",
      created_at: time(id * 60),
      updated_at: time(id * 60 + 400),
      started_at: time(id * 60 + 30),
      finished_at: time(id * 60 + 390),
      resources: null,
      node_scheduled: `node-${(id % MACHINES) + 1}`,
    },
  ]);

export const build = (id: number) => ({
  id,
  uuid: hex(`build ${id}`),
  name: null,
  unique_name: `${PROJECT}.builds.${id}`,
  user: "root",
  description: null,
  created_at: time(id),
  updated_at: time(id + 100),
  started_at: time(id + 10),
  finished_at: time(id + 90),
  last_status: "succeeded",
  tags: null,
  project: PROJECT,
  config: { build: { build_steps: STEPS, image: IMAGE }, version: 1, kind: "build" },
  resources: null,
  node_scheduled: "node-1",
  num_jobs: 0,
  num_experiments: 12,
  dockerfile: DOCKERFILE,
  commit: hex(`commit ${id}`, 40),
  bookmarked: false,
});

export const group = (id: number) => ({
  id,
  uuid: hex(`group ${id}`),
  name: null,
  unique_name: `${PROJECT}.${id}`,
  user: "root",
  description: "Random search over learning rate and dropout",
  last_status: "succeeded",
  project: PROJECT,
  created_at: time(id),
  updated_at: time(id + 900),
  started_at: time(id + 5),
  finished_at: time(id + 890),
  tags: null,
  concurrency: 5,
  search_algorithm: "random",
  current_iteration: 1,
  content: CONTENT,
  hptuning: {
    early_stopping: null,
    concurrency: 5,
    seed: null,
    matrix: {
      learning_rate: { linspace: { num: 5, start: 0.001, stop: 0.1 } },
      dropout: { values: [0.25, 0.3] },
      activation: { values: ["relu", "sigmoid"] },
    },
    random_search: { n_experiments: 20 },
  },
  has_tensorboard: null,
  num_experiments: 20,
  num_pending_experiments: 0,
  num_running_experiments: 0,
  num_scheduled_experiments: 0,
  num_succeeded_experiments: 20,
  num_failed_experiments: 0,
  num_stopped_experiments: 0,
  bookmarked: false,
});

const machine = (number: number) => ({
  uuid: hex(`machine ${number}`),
  sequence: number,
  name: `node-${number}`,
  hostname: `gke-cluster-pool-${number}-1f6d`,
  role: "agent",
  memory: 7841,
  cpu: 2,
  n_gpus: 0,
  status: "ready",
  is_current: true,
});

export type Experiment = ReturnType<typeof experiment>;
export type ExperimentJob = ReturnType<typeof experimentJobs>["results"][number];
export type StatusRecord = ReturnType<typeof statuses>["results"][number];
export type MetricRecord = ReturnType<typeof metrics>["results"][number];
export type Build = ReturnType<typeof build>;
export type Group = ReturnType<typeof group>;
export type Machine = ReturnType<typeof machine>;
export interface Page<Item> {
  readonly count: number;
  readonly results: readonly Item[];
}

/**
 * All responses of the service by path. Experiments, builds and groups also have a path with their whole reference
 * (`…/builds/root.quick-start.builds.1`), for servers that cannot split a string.
 */
export function responses(): ReadonlyMap<string, object> {
  const project = "/api/v1/root/quick-start";
  const pathsOf = (kind: string, id: number, { unique_name }: { readonly unique_name: string }) =>
    [`${project}/${kind}/${id}`, `${project}/${kind}/${unique_name}`] as const;
  return new Map<string, object>([
    ...numbers(EXPERIMENTS).flatMap((id) => {
      const record = experiment(id);
      return pathsOf("experiments", id, record).flatMap((path): [string, object][] => [
        [path, record],
        [`${path}/statuses`, statuses(id)],
        [`${path}/metrics`, metrics(id)],
        [`${path}/jobs`, experimentJobs(id)],
      ]);
    }),
    ...numbers(BUILDS).flatMap((id) => {
      const record = build(id);
      return pathsOf("builds", id, record).map((path): [string, object] => [path, record]);
    }),
    ...numbers(GROUPS).flatMap((id) => {
      const record = group(id);
      return pathsOf("groups", id, record).map((path): [string, object] => [path, record]);
    }),
    ...numbers(MACHINES).map((id): [string, object] => [`/api/v1/nodes/node-${id}`, machine(id)]),
    ["/api/v1/cluster", { version_api: { major: "1", minor: "11" }, nodes: numbers(MACHINES).map(machine) }],
  ]);
}
