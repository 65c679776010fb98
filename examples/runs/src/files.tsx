import { useState } from "react";
import { CombinedError } from "urql";
import { useSession } from "./client.ts";
import { Trouble } from "./errors.tsx";
import { bytesInWords } from "./format.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { useRead } from "./live.tsx";
import { Button, Loading } from "./parts.tsx";

const filesFragment = graphql(`
  fragment Files on Experiment {
    id
    uniqueName
    outputsUrl
    logsUrl
  }
`);

const folderQuery = graphql(`
  query Folder($run: ID!, $path: String) {
    experiment(id: $run) {
      id
      outputFiles(path: $path) {
        folders {
          name
          path
        }
        files {
          name
          path
          bytes
          url
        }
      }
    }
  }
`);

/** The files of a run: downloads of its outputs and its log, and the tree of its output files. */
export function Files({ of }: { of: FragmentType<typeof filesFragment> }) {
  const { id, uniqueName, outputsUrl, logsUrl } = readFragment(filesFragment, of);
  return (
    <section className="files" aria-label="Output files">
      <div className="actions">
        <Download url={outputsUrl} name={`${uniqueName}.tar.gz`} label="Download outputs" />
        <Download url={logsUrl} name={`${uniqueName}.log`} label="Download log" />
      </div>
      <Folder run={id} path={null} />
    </section>
  );
}

/** The contents of a folder, folders first. Each folder is read when it is opened. A null path is the root of the outputs. */
function Folder({ run, path }: { run: string; path: string | null }) {
  const { data, error, fetching, reload } = useRead({ query: folderQuery, variables: { run, path } });
  const [open, setOpen] = useState<string | null>();
  const folder = data?.experiment?.outputFiles;
  return (
    <>
      <Trouble error={error} data={folder} retry={reload} />
      {!folder && fetching && <Loading what={path ?? "the output files"} />}
      <ul>
        {folder?.folders?.map(({ name, path: inner }) => (
          <li key={name}>
            <button
              className="plain"
              aria-expanded={open === inner}
              onClick={() => setOpen(open === inner ? undefined : inner)}
            >
              {name}/
            </button>
            {open === inner && inner !== null && <Folder run={run} path={inner} />}
          </li>
        ))}
        {folder?.files?.map(({ name, path: inner, bytes, url }) => (
          <li key={name} className="file">
            <span>{name}</span>
            <span className="hint">{bytes === null ? "" : bytesInWords(bytes)}</span>
            {url && <Download url={url} name={name} label="Download" title={`Download ${inner ?? name}`} />}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Downloads a file with the token, which a plain link cannot send, and lets the browser save it if it is complete. */
async function save(url: string, token: string, name: string): Promise<CombinedError | undefined> {
  try {
    const response = await fetch(url, { headers: { authorization: `token ${token}` } });
    // An error response has the format of GraphQL errors.
    if (!response.ok) return new CombinedError({ graphQLErrors: (await response.json()).errors });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
    return undefined;
  } catch (cause) {
    return new CombinedError({ networkError: cause instanceof Error ? cause : new Error(String(cause)) });
  }
}

interface DownloadProps {
  readonly url: string;
  /** Name under which the file is saved. */
  readonly name: string;
  readonly label: string;
  /** Accessible name, for a label that is ambiguous. */
  readonly title?: string;
}

export function Download({ url, name, label, title }: DownloadProps) {
  const token = useSession();
  const [state, setState] = useState("");
  const [error, setError] = useState<CombinedError>();
  async function start() {
    setState("Loading…");
    setError(undefined);
    const trouble = await save(url, token, name);
    setState(trouble ? "" : `Saved ${name}`);
    setError(trouble);
  }
  return (
    <div className="download">
      <Button aria-label={title} isOff={state === "Loading…"} onClick={start}>
        {label}
      </Button>
      <span role="status" className="hint">
        {state}
      </span>
      <Trouble error={error} retry={start} />
    </div>
  );
}
