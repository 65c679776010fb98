import { uuid } from "../newer-keys.ts";
import { type JsonRecord, timestamp } from "../records.ts";
import { requireUser } from "./accounts.ts";
import { type DemoRequest, type DemoResponse, json, notFound } from "./messages.ts";

interface Node {
  readonly sequence: number;
  readonly name: string;
  readonly role: string;
  /** In bytes. The value needs more than 32 bits. */
  readonly memory: number;
  /** In cores. */
  readonly cpu: number;
  /** The names of the GPUs; empty without GPUs. */
  readonly gpus: readonly string[];
}

const since = Date.UTC(2026, 1, 2, 7, 30);

/** The cluster, unordered, as on real servers. `node-9`, on which a job ran, has left it. */
const nodes: readonly Node[] = [
  { sequence: 2, name: "node-2", role: "agent", memory: 67_430_387_712, cpu: 15.89, gpus: [] },
  {
    sequence: 3,
    name: "gpu-node.eu-1",
    role: "agent",
    memory: 270_144_200_704,
    cpu: 63.77,
    gpus: ["Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB"],
  },
  { sequence: 1, name: "node-1", role: "master", memory: 33_657_483_264, cpu: 7.91, gpus: [] },
];

function summary({ sequence, name, role, memory, cpu, gpus }: Node): JsonRecord {
  return {
    uuid: uuid("node", sequence),
    sequence,
    name,
    hostname: `${name}.cluster.local`,
    role,
    memory,
    cpu,
    n_gpus: gpus.length,
  };
}

function gpu(node: Node, name: string, index: number): JsonRecord {
  return {
    uuid: uuid(`gpu of node ${node.sequence}`, index),
    cluster_node: uuid("node", node.sequence),
    created_at: timestamp(since),
    updated_at: timestamp(since),
    index,
    serial: `GPU-${node.sequence}-${index}`,
    name,
    memory: 17_071_734_784,
  };
}

// Every user may read the cluster and its nodes. In release 0.4.4 the node endpoint fails for users who are
// not superusers; a demo should not show an error there.

export function cluster(request: DemoRequest): DemoResponse {
  requireUser(request);
  return json(200, {
    uuid: uuid("cluster", 1),
    version_api: {
      major: "1",
      minor: "10",
      go_version: "go1.9.3",
      platform: "linux/amd64",
      git_version: "v1.10.3",
      compiler: "gc",
      build_date: "2018-05-21T09:05:37Z",
      git_commit: "2bba0127d85d5a46ab4b778548be28623b32d0b0",
      git_tree_state: "clean",
    },
    created_at: timestamp(since),
    updated_at: timestamp(since + 86_400_000),
    nodes: nodes.map(summary),
  });
}

export function clusterNode(request: DemoRequest): DemoResponse {
  requireUser(request);
  const node = nodes.find(({ sequence }) => String(sequence) === request.params["sequence"]);
  if (!node) throw notFound();
  return json(200, {
    ...summary(node),
    gpus: node.gpus.map((name, index) => gpu(node, name, index)),
    docker_version: "17.3.2",
    kubelet_version: "v1.10.3",
    os_image: "Ubuntu 16.04.4 LTS",
    kernel_version: "4.15.0-1013-gcp",
    schedulable_taints: node.role === "agent",
    schedulable_state: true,
    status: "ready",
    is_current: true,
  });
}
