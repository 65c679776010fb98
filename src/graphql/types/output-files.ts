import { runs } from "../../rest/api/kinds.ts";
import { isPlainPath, plainPath } from "../../rest/api/endpoint.ts";
import type { FileEntry } from "../../rest/api/record.ts";
import type { OutputFolderRecord } from "../../rest/api/records.ts";
import { UpstreamError } from "../../errors.ts";
import { builder } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf, shown, shownOrNull } from "../core/fields.ts";
import { requires } from "../core/ids.ts";
import { nullIfMissing, type Resource } from "../core/resource.ts";
import { fileUrl } from "./logs.ts";

/** A folder that was read. */
interface Folder {
  readonly run: Resource;
  /** Empty for the outputs as a whole. */
  readonly path: string;
  readonly record: OutputFolderRecord;
}

/** A name in a folder. */
interface Entry {
  readonly folder: Folder;
  readonly name: string;
}

interface File extends Entry {
  readonly bytes: number | null;
}

/** The path of an entry; null when its name cannot stand in one. */
function pathOf({ folder: { path: above }, name }: Entry): string | null {
  const path = above === "" ? name : `${above}/${name}`;
  return !name.includes("/") && isPlainPath(path) ? path : null;
}

const NO_PATH = "null if its name cannot be part of a path";

const OutputFile = builder.objectRef<File>("OutputFile").implement({
  description: "A file of the outputs of a run.",
  fields: (t) => ({
    name: t.string(shown("name", "Name.")),
    path: t.string({ description: `Path below the outputs; ${NO_PATH}.`, resolve: pathOf }),
    bytes: t.float(shownOrNull("bytes", "Size in bytes.")),
    url: t.string({
      description: `URL of the file; ${NO_PATH}. Send the \`Authorization\` header of GraphQL.`,
      resolve: (file, _, context) => {
        const path = pathOf(file);
        return path === null ? null : fileUrl(file.folder.run, path, context);
      },
    }),
  }),
});

const OutputSubfolder = builder.objectRef<Entry>("OutputSubfolder").implement({
  description: "A folder in a folder of the outputs of a run.",
  fields: (t) => ({
    name: t.string(shown("name", "Name.")),
    path: t.string({
      description: `Path below the outputs, for the \`path\` of \`outputFiles\`; ${NO_PATH}.`,
      resolve: pathOf,
    }),
  }),
});

const byName = (a: Entry, b: Entry) => (a.name < b.name ? -1 : Number(a.name > b.name));

const OutputFolder = builder.objectRef<Folder>("OutputFolder").implement({
  description: "A folder of the outputs of a run.",
  fields: (t) => ({
    folders: t.field({
      type: [OutputSubfolder],
      description: "The folders in it, by name.",
      resolve: (folder) => folder.record.dirs?.map((name) => ({ folder, name })).toSorted(byName) ?? null,
    }),
    files: t.field({
      type: [OutputFile],
      description: "The files in it, by name.",
      resolve: (folder) => folder.record.files?.map((file) => toFile(folder, file)).toSorted(byName) ?? null,
    }),
  }),
});

const toFile = (folder: Folder, [name, bytes = null]: FileEntry): File => ({ folder, name, bytes });

/** Reads a folder. A folder that is missing is null; a missing run is an error. */
async function readFolder(
  run: Resource,
  { path }: { readonly path?: string | null | undefined },
  { session }: Context,
): Promise<Folder | null> {
  const { outputFolder } = run.kind;
  if (!outputFolder) throw new TypeError(`${run.kind.name} has no outputs`);
  const query = path ? { path: plainPath("path", path) } : undefined;
  const read = session.read(outputFolder, run.address, { query }).catch(nullIfNoFolder);
  const record = await nullIfMissing(run, read, session);
  return record && { run, path: path ?? "", record };
}

/** Known servers find the run first, and answer 400 when it has no such folder. */
function nullIfNoFolder(error: unknown): null {
  if (error instanceof UpstreamError && error.facts.upstream?.status === 400) return null;
  throw error;
}

/** The field `outputFiles` of runs with outputs. */
export const outputFiles = {
  type: OutputFolder,
  description: `A folder of the output files; null if there is none.${requires(runs.experiment.optional.outputFolder)}`,
  args: builder.args((t) => ({
    path: t.string({
      description: "Path below the outputs, such as `checkpoints/best`. Default: all of them.",
    }),
  })),
  ...fieldsOf().child(readFolder),
};
