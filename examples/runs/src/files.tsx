import { useState } from "react";
import { useQuery } from "urql";
import { hrefOf, projectOf } from "./address.ts";
import { bytesInWords } from "./bytes.ts";
import { Download } from "./downloads.tsx";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Sheet } from "./sheet.tsx";

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

/** The output files of a run as a tree: a folder is read when it is opened. */
export function Files({ run }: { run: string }) {
  return (
    <Sheet name={`Output files of ${run}`}>
      <section className="panel files" aria-labelledby="files">
        <h2 id="files">
          Output files of <a href={hrefOf({ list: projectOf(run), run })}>{run}</a>
        </h2>
        <Folder run={run} path={null} />
      </section>
    </Sheet>
  );
}

interface FolderProps {
  readonly run: string;
  /** Below the outputs. Null: the outputs as a whole. */
  readonly path: string | null;
}

/** The contents of a folder: folders first, then files. */
function Folder({ run, path }: FolderProps) {
  const [{ data, error, fetching }, read] = useQuery({ query: folderQuery, variables: { run, path } });
  const folder = data?.experiment?.outputFiles;
  if (!folder && fetching) return <Loading what={path ?? "the output files"} lines={path ? 2 : 4} />;
  const [folders, files] = [folder?.folders ?? [], folder?.files ?? []];
  return (
    <>
      <Trouble error={error} data={folder} retry={() => read({ requestPolicy: "network-only" })} />
      {!error && folders.length + files.length === 0 && (
        <p className="hint">{path ? "The folder is empty." : "The run has no output files."}</p>
      )}
      {folders.length + files.length > 0 && (
        <ul>
          {folders.map((inner) => (
            <li key={inner.name}>
              <Subfolder run={run} name={inner.name} path={inner.path} />
            </li>
          ))}
          {files.map((file) => (
            <li key={file.name} className="file">
              <span>{file.name}</span>
              <span className="hint">{file.bytes === null ? "" : bytesInWords(file.bytes)}</span>
              {file.url && (
                <Download
                  url={file.url}
                  name={file.name}
                  label="Download"
                  title={`Download ${file.path ?? file.name}`}
                />
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** A folder that opens and closes. It cannot be read without a path. */
function Subfolder({ run, name, path }: FolderProps & { readonly name: string }) {
  const [isOpen, setOpen] = useState(false);
  if (path === null) return <span className="hint">{name}/</span>;
  return (
    <>
      <button className="folder" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {name}/
      </button>
      {isOpen && <Folder run={run} path={path} />}
    </>
  );
}
