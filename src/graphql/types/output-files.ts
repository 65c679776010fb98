import { runs } from "../../rest/api/kinds.ts";
import { isPlainPath, plainPath } from "../../rest/api/endpoint.ts";
import { GatewayError } from "../../errors.ts";
import { arg, builder, computedFromOrNull, objectType, exposed, exposedOrNull } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { forEach, type ResultOf, type CooperativeTask } from "../../util/cooperative-task.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires } from "../core/ids.ts";
import { nullIfMissing, type Resource } from "../core/resource.ts";
import { byName, sorted } from "../core/cooperative-algorithms.ts";
import { fileUrl } from "./logs.ts";

/** A file or folder in a folder. `path` is relative to the outputs; null if the name cannot be part of a path. */
function entryOf(name: string, folder: string | null | undefined) {
  const path = folder ? `${folder}/${name}` : name;
  return { name, path: !name.includes("/") && isPlainPath(path) ? path : null };
}

type Entry = ReturnType<typeof entryOf>;
type Folder = NonNullable<Awaited<ReturnType<typeof readFolder>>>;
type File = ResultOf<typeof filesIn>;

const NO_PATH = "null if its name cannot be part of a path";

const OutputFile = objectType<File>("OutputFile", "A file of the outputs of a run.", (t) => ({
  name: t.string(exposed("name", "Name.")),
  path: t.string(exposedOrNull("path", `Path below the outputs; ${NO_PATH}.`)),
  bytes: t.float(exposedOrNull("bytes", "Size in bytes.")),
  url: t.string({
    description: `URL of the file; ${NO_PATH}. Send the \`Authorization\` header of GraphQL.`,
    resolve: ({ run, path }, _, context) => (path === null ? null : fileUrl(run, path, context)),
  }),
}));

const OutputSubfolder = builder.objectRef<Entry>("OutputSubfolder").implement({
  description: "A folder in a folder of the outputs of a run.",
  fields: (t) => ({
    name: t.string(exposed("name", "Name.")),
    path: t.string(exposedOrNull("path", `Path below the outputs, as \`outputFiles\` takes it; ${NO_PATH}.`)),
  }),
});

function* foldersIn({ dirs, path }: Folder): CooperativeTask<readonly Entry[]> {
  const folders: Entry[] = [];
  yield* forEach(dirs ?? [], (name) => void folders.push(entryOf(name, path)));
  return yield* sorted(folders, byName);
}

function* filesIn({ files, path, run }: Folder) {
  const entries: (Entry & { readonly run: Resource; readonly bytes: number | null })[] = [];
  yield* forEach(
    files ?? [],
    ([name, bytes = null]) => void entries.push({ ...entryOf(name, path), run, bytes }),
  );
  return yield* sorted(entries, byName);
}

/**
 * The lists of a folder are computed in time slices, and once for all fields that show the folder, because it may have `MAX_RECORDS` files.
 */
const OutputFolder = objectType<Folder>("OutputFolder", "A folder of the outputs of a run.", (t) => ({
  folders: t.field(
    computedFromOrNull([OutputSubfolder], "The folders in it, by name.", (folder, _, context) =>
      folder.dirs ? context.memoized(folder.dirs, ["folders"], () => foldersIn(folder)) : null,
    ),
  ),
  files: t.field(
    computedFromOrNull([OutputFile], "The files in it, by name.", (folder, _, context) =>
      folder.files ? context.memoized(folder.files, ["files"], () => filesIn(folder)) : null,
    ),
  ),
}));

/** Reads a folder. Resolves with null if the folder does not exist, and rejects if the run does not exist. */
async function readFolder(
  run: Resource,
  { path }: { path?: string | null | undefined },
  { session }: Context,
) {
  const { outputFolder } = run.kind;
  if (!outputFolder) throw new TypeError(`${run.kind.name} has no outputs`);
  const query = path ? { path: plainPath("path", path) } : undefined;
  const read = session.read(outputFolder, run.address, { query }).catch(nullIfNoFolder);
  const record = await nullIfMissing(run, read, session);
  if (!record) return null;
  return { ...record, path, run };
}

/**
 * Returns null for the error of a folder that does not exist, and throws any other error. Known servers respond with 400 if the run exists
 * but the folder does not.
 */
function nullIfNoFolder(error: unknown): null {
  if (error instanceof GatewayError && error.details.upstream?.status === 400) return null;
  throw error;
}

export const outputFiles = {
  type: OutputFolder,
  args: {
    path: arg.string({
      description: "Path below the outputs, such as `checkpoints/best`. Default: the top folder.",
    }),
  },
  ...fieldsOf().child(
    `A folder of the output files; null if there is none.${requires(runs.experiment.optional.outputFolder)}`,
    readFolder,
  ),
};
