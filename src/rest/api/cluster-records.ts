import { type AnswerOf, json, jsonWithList } from "./reader.ts";
import {
  flag,
  integer,
  list,
  number,
  recordOf,
  type RecordOf,
  records,
  requiredText,
  text,
  timestamp,
} from "./record.ts";

/* The cluster and its nodes, read as the records in `records.ts`. */

/** The name is required because it identifies the node. */
const NodeKeys = {
  uuid: text,
  sequence: integer,
  name: requiredText,
  hostname: text,
  role: text,
  /** Bytes; above 32 bits. */
  memory: number,
  cpu: number,
  n_gpus: integer,
  gpus: list,
  docker_version: text,
  kubelet_version: text,
  os_image: text,
  kernel_version: text,
  schedulable_taints: flag,
  schedulable_state: flag,
  status: text,
  is_current: flag,
};
/** The cluster's summaries are nodes without the detail keys. If they have some, those are checked as well. */
export type NodeRecord = RecordOf<typeof NodeKeys>;

const ClusterKeys = {
  uuid: text,
  version_api: {
    major: text,
    minor: text,
    go_version: text,
    platform: text,
    git_version: text,
    compiler: text,
    build_date: text,
    git_commit: text,
    git_tree_state: text,
  },
  created_at: timestamp,
  updated_at: timestamp,
  nodes: records,
};

const readNode = recordOf(NodeKeys);

export const Cluster = jsonWithList(ClusterKeys, "nodes", readNode);
export type ClusterRecord = AnswerOf<typeof Cluster>;
export const Node = json(readNode);
