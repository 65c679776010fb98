import { cluster } from "../../rest/api/kinds.ts";
import { InputError } from "../../errors.ts";
import type { ClusterRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource, unverified } from "../core/resource.ts";
import { checked, number } from "../core/ids.ts";
import { Cluster, Entity, Node } from "../core/refs.ts";

type Version = NonNullable<ClusterRecord["version_api"]>;

const PlatformVersion = builder.objectRef<Version>("PlatformVersion").implement({
  description: "Version of the orchestration platform.",
  fields: (t) => ({
    major: t.exposeString("major", { nullable: true, description: "Major version." }),
    minor: t.exposeString("minor", { nullable: true, description: "Minor version." }),
    goVersion: t.exposeString("go_version", { nullable: true, description: "Go version of its build." }),
    platform: t.exposeString("platform", { nullable: true, description: "System and architecture." }),
    gitVersion: t.exposeString("git_version", { nullable: true, description: "Version tag." }),
    compiler: t.exposeString("compiler", { nullable: true, description: "Compiler." }),
    buildDate: t.exposeString("build_date", { nullable: true, description: "Date of its build." }),
    gitCommit: t.exposeString("git_commit", { nullable: true, description: "Commit." }),
    gitTreeState: t.exposeString("git_tree_state", {
      nullable: true,
      description: "State of the source tree.",
    }),
  }),
});

const ofCluster = fieldsOf(Cluster.kind);

/** Source: service document, "Cluster". */
Cluster.implement({
  description: "The compute cluster.",
  interfaces: [Entity],
  fields: (t) => ({
    uuid: t.string({ description: "Identifier in the tracking service.", ...ofCluster.property("uuid") }),
    platformVersion: t.field({
      type: PlatformVersion,
      description: "Its orchestration platform.",
      ...ofCluster.property("version_api"),
    }),
    createdAt: t.field({ type: "DateTime", description: "Creation.", ...ofCluster.property("created_at") }),
    updatedAt: t.field({
      type: "DateTime",
      description: "Last change.",
      ...ofCluster.property("updated_at"),
    }),
    nodes: t.field({
      type: [Node],
      description: "The machines.",
      ...ofCluster.computed(
        ["nodes"],
        ({ nodes }) =>
          nodes?.map((summary) => toResource(Node.kind, { name: summary.name }, summary)) ?? null,
      ),
    }),
  }),
});

const { property, fromAddress } = fieldsOf(Node.kind);

/** Source: service document, "Node summary" and "Node detail". */
Node.implement({
  description: "A machine of the cluster.",
  interfaces: [Entity],
  fields: (t) => ({
    name: t.string({ nullable: false, description: "Name.", ...fromAddress(({ address }) => address.name) }),
    uuid: t.string({ description: "Identifier in the tracking service.", ...property("uuid") }),
    sequence: t.int({ description: "Sequence number in the service.", ...property("sequence") }),
    hostname: t.string({ description: "Host name.", ...property("hostname") }),
    role: t.string({ description: "Role, such as `agent`.", ...property("role") }),
    memory: t.float({ description: "Total memory, in bytes on known servers.", ...property("memory") }),
    cpu: t.float({ description: "Total CPU, in cores on known servers.", ...property("cpu") }),
    gpuCount: t.int({ description: "Number of GPUs, in use or not.", ...property("n_gpus") }),
    gpus: t.field({
      type: ["JSON"],
      nullable: { list: true, items: true },
      description: "The GPUs.",
      ...property("gpus"),
    }),
    dockerVersion: t.string({ description: "Container runtime version.", ...property("docker_version") }),
    kubeletVersion: t.string({ description: "Version of the kubelet.", ...property("kubelet_version") }),
    osImage: t.string({ description: "Operating system image.", ...property("os_image") }),
    kernelVersion: t.string({ description: "Kernel version.", ...property("kernel_version") }),
    schedulableTaints: t.boolean({
      description: "Whether its taints allow scheduling.",
      ...property("schedulable_taints"),
    }),
    schedulableState: t.boolean({
      description: "Whether its state allows scheduling.",
      ...property("schedulable_state"),
    }),
    status: t.string({ description: "Status, such as `ready`.", ...property("status") }),
    isCurrent: t.boolean({ description: "Whether it is in the cluster now.", ...property("is_current") }),
  }),
});

builder.queryFields((t) => ({
  cluster: t.field({
    type: Cluster,
    description: "The cluster.",
    resolve: () => unverified(toResource(Cluster.kind, {})),
  }),
  node: t.field({
    type: Node,
    description: "A machine of the cluster, by either its name or its number.",
    args: {
      sequence: t.arg.int({ description: "Sequence number." }),
      name: t.arg.string({ description: "Name." }),
    },
    resolve: async (_, { sequence, name }, { session }) => {
      if (sequence != null && name == null) {
        const record = await session.read(cluster.node, { sequence: number("sequence", `${sequence}`) });
        return toResource(Node.kind, { name: record.name }, record);
      }
      if (name != null && sequence == null) {
        return unverified(toResource(Node.kind, checked("name", { name })));
      }
      throw new InputError(
        `node: expected \`name\` or \`sequence\`, such as \`sequence: 1\`, got ${name == null ? "neither" : "both"}`,
      );
    },
  }),
}));
