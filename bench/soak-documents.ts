/** Hostile documents that a caller may send. */

/**
 * Nests `count` fragments. Each spreads the next one below four fields, which makes 4 to the power of `count` paths for each of 20
 * entities.
 */
export function expandingFragments(count: number): string {
  const fragments = Array.from({ length: count }, (_, at) => {
    const below = at + 1 < count ? `project { ...P${at + 1} }` : "id";
    const runs = ["experiment", "job", "buildJob", "group"].map(
      (field) => `${field}(internalId: "1") { ${below} }`,
    );
    return `fragment P${at} on Project { ${runs.join(" ")} }`;
  });
  const keys = `{ __typename: "Project", uniqueName: "ada.mnist" } `.repeat(20);
  return `{ _entities(representations: [${keys}]) { ...P0 } } ${fragments.join(" ")}`;
}

export function introspectionByAliases(aliases: number): string {
  const types = "types { name fields { name type { name } } }";
  return `{ __schema { ${Array.from({ length: aliases }, (_, at) => `a${at}: ${types}`).join(" ")} } }`;
}

/** A document of about 10 kB. Each number gives a different one. */
function manyFragments(number: number, field: string): string {
  const names = Array.from({ length: 100 }, (_, at) => `Fragment_${number}_of_which_there_are_many_${at}`);
  const fragments = names.map((name) => `fragment ${name} on GatewayInfo { ${field} }`);
  return `query Q${number} { gateway { ${names.map((name) => `...${name}`).join(" ")} } } ${fragments.join(" ")}`;
}
export const longDocument = (number: number) => manyFragments(number, "version");

/** The same document with an unknown field, which validation rejects. */
export const wrongDocument = (number: number) => manyFragments(number, `wrong${number}`);

const hostile = (shape: string, id: number, selection: string) =>
  `{ experiment(id: "hostile.${shape}.${id}") { ${selection} } }`;

export const recordOf = (shape: string, id = 1) => hostile(shape, id, "status tags description");
/** Selects only the status, not the long `content` of the shape `yaml`. */
export const statusOf = (shape: string, id = 1) => hostile(shape, id, "status");
export const logBehind = (byte: number) =>
  hostile("log", 1, `logs(after: "${Buffer.from(`byte:${byte}`).toString("base64url")}") { hasMore }`);
export const endOfLog = hostile("log", 1, "logs(tailLines: 10) { startByte }");
export const logOfNewlines = hostile("newlines", 1, "logs(maxBytes: 1000000) { lines }");
export const allMetrics = `{ ${[1, 2, 3, 4]
  .map(
    (id) =>
      `e${id}: experiment(id: "hostile.metrics.${id}") { metrics { nodes { createdAt values { name value } } } }`,
  )
  .join(" ")} }`;

export const runUpdates = (id: number) =>
  `subscription { runUpdated(id: "hostile.live.experiments.${id}") { run { status } } }`;
