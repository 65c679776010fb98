import { useState } from "react";
import { CombinedError } from "urql";
import { download, save } from "./download.ts";
import { codesOf, Trouble } from "./errors.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { useSession } from "./session.ts";

const downloadsFragment = graphql(`
  fragment Downloads on Experiment {
    uniqueName
    outputsUrl
    logsUrl
  }
`);

/** The files of a run. */
export function Downloads({ of }: { of: FragmentType<typeof downloadsFragment> }) {
  const { uniqueName, outputsUrl, logsUrl } = readFragment(downloadsFragment, of);
  return (
    <div className="downloads">
      <Download url={outputsUrl} name={`${uniqueName}.tar.gz`} label="Download outputs" />
      <Download url={logsUrl} name={`${uniqueName}.log`} label="Download log" />
    </div>
  );
}

function Download({ url, name, label }: { url: string; name: string; label: string }) {
  const { token, end } = useSession();
  const [loaded, setLoaded] = useState<number>();
  const [outcome, setOutcome] = useState<{ readonly saved?: string; readonly error?: CombinedError }>({});

  async function start() {
    setLoaded(0);
    setOutcome({});
    try {
      const bytes = await download(url, token, setLoaded);
      save(name, bytes);
      setOutcome({ saved: `${name}, ${inWords(bytes.size)}` });
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
      <button disabled={loaded !== undefined} onClick={start}>
        {label}
      </button>
      <span role="status" className="hint">
        {loaded === undefined ? saved && `Saved ${saved}` : inWords(loaded)}
      </span>
      <Trouble error={error} retry={start} />
    </div>
  );
}

/** A number of bytes as `3.4 MB`. */
function inWords(bytes: number): string {
  const [unit, size] = bytes < 1e6 ? ["kB", 1e3] : ["MB", 1e6];
  return `${(bytes / size).toFixed(1)} ${unit}`;
}
