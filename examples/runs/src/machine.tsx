import { useQuery } from "urql";
import { bytesInWords } from "./bytes.ts";
import { Trouble } from "./errors.tsx";
import { Fact } from "./fact.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Sheet } from "./sheet.tsx";

const machineQuery = graphql(`
  query Machine($name: ID!) {
    node(id: $name) {
      id
      name
      hostname
      role
      status
      isCurrent
      schedulableState
      schedulableTaints
      cpu
      memory
      gpuCount
      gpus {
        index
        name
        serial
        memoryBytes
      }
      osImage
      kernelVersion
      dockerVersion
      kubeletVersion
    }
  }
`);

const yesOrNo = (value: boolean | null) => (value === null ? null : value ? "yes" : "no");

/** A machine of the cluster. */
export function Machine({ name }: { name: string }) {
  const [{ data, error, fetching }, read] = useQuery({ query: machineQuery, variables: { name } });
  const machine = data?.node;
  return (
    <Sheet name={name}>
      <section className="panel" aria-labelledby="machine">
        <h2 id="machine">{name}</h2>
        {!machine && fetching && <Loading what={name} lines={6} />}
        {!fetching && (
          <Trouble error={error} data={machine} retry={() => read({ requestPolicy: "network-only" })} />
        )}
        {machine && (
          <>
            <dl className="facts">
              <Fact name="status">{machine.status}</Fact>
              <Fact name="role">{machine.role}</Fact>
              <Fact name="host">{machine.hostname}</Fact>
              <Fact name="in the cluster">{yesOrNo(machine.isCurrent)}</Fact>
              <Fact name="takes new work">{yesOrNo(takesWork(machine))}</Fact>
              <Fact name="CPU">{machine.cpu}</Fact>
              <Fact name="memory">{machine.memory === null ? null : bytesInWords(machine.memory)}</Fact>
              <Fact name="GPUs">{machine.gpuCount}</Fact>
              <Fact name="system">{machine.osImage}</Fact>
              <Fact name="kernel">{machine.kernelVersion}</Fact>
              <Fact name="container runtime">{machine.dockerVersion}</Fact>
              <Fact name="kubelet">{machine.kubeletVersion}</Fact>
            </dl>
            {machine.gpus && machine.gpus.length > 0 && (
              <details>
                <summary>GPUs</summary>
                <ul>
                  {machine.gpus.map(({ index, name: model, serial, memoryBytes }) => (
                    <li key={index}>
                      {model} {serial} {memoryBytes === null ? null : bytesInWords(memoryBytes)}
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </>
        )}
      </section>
    </Sheet>
  );
}

interface Schedulable {
  readonly schedulableState: boolean | null;
  readonly schedulableTaints: boolean | null;
}

/** Null if the service says nothing of it. */
const takesWork = ({ schedulableState: state, schedulableTaints: taints }: Schedulable) =>
  state === null && taints === null ? null : state !== false && taints !== false;
