import { type ByName, integer, number, text } from "../../rest/api/record.ts";
import type { ClusterRecord } from "../../rest/api/records.ts";
import {
  arg,
  builder,
  checkedProperty,
  computedFrom,
  exposedOrNull,
  objectType,
  root,
} from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource, requireVerification } from "../core/resource.ts";
import { resolveIdOrName } from "../core/ids.ts";
import { Cluster, Node, resourceType } from "../core/refs.ts";

type Version = NonNullable<ClusterRecord["version_api"]>;

const PlatformVersion = builder.objectRef<Version>("PlatformVersion").implement({
  description: "Version of the orchestration platform.",
  fields: (t) => ({
    major: t.string(exposedOrNull("major", "Major version.")),
    minor: t.string(exposedOrNull("minor", "Minor version.")),
    goVersion: t.string(exposedOrNull("go_version", "Go version of its build.")),
    platform: t.string(exposedOrNull("platform", "System and architecture.")),
    gitVersion: t.string(exposedOrNull("git_version", "Version tag.")),
    compiler: t.string(exposedOrNull("compiler", "Compiler.")),
    buildDate: t.string(exposedOrNull("build_date", "Date of its build.")),
    gitCommit: t.string(exposedOrNull("git_commit", "Commit.")),
    gitTreeState: t.string(exposedOrNull("git_tree_state", "State of the source tree.")),
  }),
});

const ofCluster = fieldsOf(Cluster.kind);

/** Source: service document, "Cluster". */
resourceType(Cluster, "The compute cluster.", (t) => ({
  uuid: t.string(ofCluster.property("uuid", "Identifier in the tracking service.")),
  platformVersion: t.field({
    type: PlatformVersion,
    ...ofCluster.property("version_api", "Its orchestration platform."),
  }),
  createdAt: t.field(ofCluster.time("created_at", "Creation.")),
  updatedAt: t.field(ofCluster.time("updated_at", "Last change.")),
  nodes: t.field({
    type: [Node],
    ...ofCluster.computed(
      ["nodes"],
      "The machines.",
      ({ nodes }) => nodes?.map((summary) => toResource(Node.kind, { name: summary.name }, summary)) ?? null,
    ),
  }),
}));

const Gpu = objectType<ByName>("Gpu", "A GPU of a machine.", (t) => ({
  index: t.int(checkedProperty("index", integer, "Number on its machine, from 0.")),
  name: t.string(checkedProperty("name", text, "Model, such as `Tesla K80`.")),
  serial: t.string(checkedProperty("serial", text, "Serial number.")),
  uuid: t.string(checkedProperty("uuid", text, "Identifier in the tracking service.")),
  memoryBytes: t.float(checkedProperty("memory", number, "Memory, in bytes on known servers.")),
  raw: t.field(computedFrom("JSON", "All of it, as received.", (gpu) => gpu)),
}));

const { property, computed, fromAddress } = fieldsOf(Node.kind);

const DETAIL_COST = "Costs a request for each machine.";

/** A field that the list of machines in a cluster lacks. */
const detail: typeof property = (key, description) => property(key, `${description} ${DETAIL_COST}`);

/** Source: service document, "Node summary" and "Node detail". */
resourceType(Node, "A machine of the cluster.", (t) => ({
  name: t.string(fromAddress("Name.", ({ address }) => address.name)),
  uuid: t.string(property("uuid", "Identifier in the tracking service.")),
  sequence: t.int(property("sequence", "Sequence number in the service.")),
  hostname: t.string(property("hostname", "Host name.")),
  role: t.string(property("role", "Role, such as `agent`.")),
  memory: t.float(property("memory", "Total memory, in bytes on known servers.")),
  cpu: t.float(property("cpu", "Total CPU, in cores on known servers.")),
  gpuCount: t.int(property("n_gpus", "Number of GPUs, in use or not.")),
  gpus: t.field({
    type: [Gpu],
    ...computed(
      ["gpus"],
      `Its GPUs, in use or not. ${DETAIL_COST}`,
      // Safe: the check of the key `gpus` accepts only a list of objects.
      ({ gpus }) => (gpus ?? null) as readonly ByName[] | null,
    ),
  }),
  dockerVersion: t.string(detail("docker_version", "Container runtime version.")),
  kubeletVersion: t.string(detail("kubelet_version", "Version of the kubelet.")),
  osImage: t.string(detail("os_image", "Operating system image.")),
  kernelVersion: t.string(detail("kernel_version", "Kernel version.")),
  schedulableTaints: t.boolean(detail("schedulable_taints", "Whether its taints allow scheduling.")),
  schedulableState: t.boolean(detail("schedulable_state", "Whether its state allows scheduling.")),
  status: t.string(detail("status", "Status, such as `ready`.")),
  isCurrent: t.boolean(detail("is_current", "Whether it is in the cluster now.")),
}));

root.query("cluster", {
  type: Cluster,
  description: "The cluster.",
  resolve: () => requireVerification(toResource(Cluster.kind, {})),
});

root.query("node", {
  type: Node,
  description: "A machine of the cluster by its id or name.",
  args: { id: arg.id({ required: true, description: "Global id, or name such as `node-1`." }) },
  resolve: (_, { id }) => requireVerification(resolveIdOrName(Node.kind, "id", id)),
});
