/** The format of dotted names for a kind of run. */
export interface Spelling {
  /** The part before the id, such as `jobs`; null for experiments and groups. */
  readonly infix: string | null;
  /** An infix that callers may write to name the kind although formatted references have none: `experiments`. */
  readonly alias?: string;
  /** Whether a group's number may precede the id, as in `ada.mnist.2.3` for experiment 3. */
  readonly inGroup?: boolean;
}

/** A type alias, because interfaces are not assignable to records of strings. */
export type RunAddress = { readonly owner: string; readonly project: string; readonly id: string };

/** Maximum length of a reference, in characters. */
export const MAX_REFERENCE_LENGTH = 1_000;

const SEQUENCE = /^(?:0|[1-9]\d{0,17})$/;

/** Whether a string is an integer id: digits without sign and leading zeros. */
export const isNumber = (text: string | undefined): text is string =>
  text !== undefined && SEQUENCE.test(text);

/**
 * Parses a reference: `ada.mnist.builds.7` with infix `builds`, `ada.mnist.3` without. The string alone is ambiguous, because experiments
 * and groups have the same format, so the spelling of a kind is required. Returns null if the string does not match.
 */
export function parseReference(text: string, { infix, alias, inGroup = false }: Spelling): RunAddress | null {
  if (text.length > MAX_REFERENCE_LENGTH) return null;
  const parts = text.split(".");
  const id = parts.at(-1);
  if (!isNumber(id)) return null;
  if (parts.at(-2) === (infix ?? alias)) {
    // Owner names may contain dots here, because the infix marks the end of the project.
    const project = parts.at(-3);
    const owner = parts.slice(0, -3).join(".");
    if (owner && project) return { owner, project, id };
  }
  const [owner, project, group] = parts;
  const shape = parts.length === 3 || (inGroup && parts.length === 4 && isNumber(group));
  return infix === null && shape && owner && project ? { owner, project, id } : null;
}

/** Formats a reference. Omits the number of a group. */
export const formatReference = (
  { owner, project, id }: RunAddress,
  { infix }: Pick<Spelling, "infix">,
): string => [owner, project, ...(infix === null ? [] : [infix]), id].join(".");

export const EXPERIMENT: Spelling = { infix: null, inGroup: true };

export type ExperimentJobAddress = {
  readonly owner: string;
  readonly project: string;
  readonly experiment: string;
  readonly id: string;
};

const EXPERIMENTS = "experiments";

/**
 * Parses `<experiment>.<job id>.<role>`, such as `ada.mnist.3.1.master` or, inside group 2, `ada.mnist.2.3.1.master`. Callers may write
 * `ada.mnist.experiments.3.1`, which contains the kind and no role.
 */
export function parseExperimentJob(text: string): ExperimentJobAddress | null {
  if (text.length > MAX_REFERENCE_LENGTH) return null;
  const parts = text.split(".");
  const [last] = parts.slice(-1);
  if (parts.at(-3) === EXPERIMENTS && isNumber(last)) {
    const parent = parseReference(parts.slice(0, -1).join("."), { infix: EXPERIMENTS });
    return parent && { owner: parent.owner, project: parent.project, experiment: parent.id, id: last };
  }
  const id = parts.at(-2);
  const experiment = parseReference(parts.slice(0, -2).join("."), EXPERIMENT);
  if (!experiment || !isNumber(id) || !parts.at(-1)) return null;
  return { owner: experiment.owner, project: experiment.project, experiment: experiment.id, id };
}

/** Formats the name of an experiment's job with the kind in it: `ada.mnist.experiments.3.1`. */
export const formatExperimentJob = ({ owner, project, experiment, id }: ExperimentJobAddress): string =>
  `${formatReference({ owner, project, id: experiment }, { infix: EXPERIMENTS })}.${id}`;

export const toBase64url = (text: string): string => Buffer.from(text).toString("base64url");

export const fromBase64url = (text: string): string => Buffer.from(text, "base64url").toString("utf8");
