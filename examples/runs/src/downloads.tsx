import { useState } from "react";
import { CombinedError } from "urql";
import { type Address, hrefOf } from "./address.ts";
import { Button } from "./button.tsx";
import { bytesInWords } from "./bytes.ts";
import { download, save } from "./download.ts";
import { codesOf, Trouble } from "./errors.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { useSession } from "./session.ts";

const downloadsFragment = graphql(`
  fragment Downloads on Experiment {
    id
    uniqueName
    outputsUrl
    logsUrl
  }
`);

interface DownloadsProps {
  readonly of: FragmentType<typeof downloadsFragment>;
  readonly address: Address;
}

/** The files of a run. */
export function Downloads({ of, address }: DownloadsProps) {
  const { uniqueName, outputsUrl, logsUrl } = readFragment(downloadsFragment, of);
  return (
    <div className="downloads">
      <a className="button" href={hrefOf({ ...address, files: uniqueName })}>
        Output files
      </a>
      <Download url={outputsUrl} name={`${uniqueName}.tar.gz`} label="Download outputs" />
      <Download url={logsUrl} name={`${uniqueName}.log`} label="Download log" />
    </div>
  );
}

interface DownloadProps {
  readonly url: string;
  /** Name of the file that is saved. */
  readonly name: string;
  readonly label: string;
  /** A longer name, for a label that is ambiguous. */
  readonly title?: string;
}

/** Saves a file, and shows the progress. */
export function Download({ url, name, label, title }: DownloadProps) {
  const { token, end } = useSession();
  const [loaded, setLoaded] = useState<number>();
  const [outcome, setOutcome] = useState<{ readonly saved?: string; readonly error?: CombinedError }>({});

  async function start() {
    setLoaded(0);
    setOutcome({});
    try {
      const bytes = await download(url, token, setLoaded);
      save(name, bytes);
      setOutcome({ saved: `${name}, ${bytesInWords(bytes.size)}` });
    } catch (error) {
      if (!(error instanceof CombinedError)) throw error;
      if (codesOf(error).includes("UNAUTHENTICATED")) end();
      setOutcome({ error });
    } finally {
      setLoaded(undefined);
    }
  }

  const { saved, error } = outcome;
  return (
    <div>
      <Button aria-label={title} isOff={loaded !== undefined} onClick={start}>
        {label}
      </Button>
      <span role="status" className="hint">
        {loaded === undefined ? saved && `Saved ${saved}` : "Loading"}
      </span>
      {/* Not read aloud: it changes with each chunk. */}
      {loaded !== undefined && (
        <span className="hint" aria-hidden="true">
          {bytesInWords(loaded)}
        </span>
      )}
      <Trouble error={error} retry={start} />
    </div>
  );
}
