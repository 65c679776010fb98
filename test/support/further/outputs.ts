import { globalId } from "../ids.ts";
import { type Asked, never, type RecordedRow } from "../recorded-rows.ts";

/** A folder of the outputs of a run, which costs no read of the run itself. */
const folder = (type: string, address: string, path: string | null = null): Asked => ({
  document: `{ thing: entity(id: "${globalId(`${type}:${address}`)}") { ... on ${type} {
    outputFiles${path === null ? "" : `(path: "${path}")`} { path folders { name } files { name path bytes } }
  } } }`,
  told: ({ dirs, files }) => ({
    outputFiles: {
      path: path ?? "",
      folders: (dirs as readonly string[]).map((name) => ({ name })),
      // The recorded folders are those at the top.
      files: (files as readonly [string, number][]).map(([name, bytes]) => ({ name, path: name, bytes })),
    },
  }),
});

/** What the server refuses because there is nothing. */
const nothing = (...of: Parameters<typeof folder>): Asked => ({
  ...folder(...of),
  told: () => ({ outputFiles: null }),
  isNoError: true,
});

const DOWNLOAD = never("a file is a download: test/recorded/output-files.test.ts asks for it");
const NO_PATH = never("the gateway asks for no file without a path");

const OF_EXPERIMENT = ["Experiment", "alice/mnist/1"] as const;
const OF_JOB = ["Job", "alice/mnist/1"] as const;

/** Outputs by folder and file. */
export const OUTPUT_ROWS: Readonly<Record<string, RecordedRow>> = {
  tree: folder(...OF_EXPERIMENT),
  "tree of a folder that is missing": nothing(...OF_EXPERIMENT, "nothing"),
  file: DOWNLOAD,
  "file that is missing": DOWNLOAD,
  "file without a path": NO_PATH,
  "tree (39)": folder(...OF_JOB),
  "tree of a folder that is missing (40)": nothing(...OF_JOB, "nothing"),
  "file (41)": DOWNLOAD,
  "file that is missing (42)": DOWNLOAD,
  "file without a path (43)": NO_PATH,
  "tree of a run without outputs": nothing("Experiment", "alice/mnist/5"),
  "another user": folder(...OF_EXPERIMENT),
  "tree of a private run": {
    ...folder("Experiment", "bob/secret/23"),
    refused: { at: "thing.outputFiles", data: { outputFiles: null } },
  },
};
