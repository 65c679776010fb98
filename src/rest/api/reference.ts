/** How a kind of run is named in dotted names. */
export interface Spelling {
  /** The word before the id, such as `jobs`; null for experiments and groups, which have none. */
  readonly infix: string | null;
  /** Whether a group's number may stand before the id, as in `ada.mnist.2.3` for experiment 3. */
  readonly inGroup: boolean;
}

/** A type, not an interface, so that it can stand where any record of strings can. */
export type RunAddress = {
  readonly owner: string;
  readonly project: string;
  /** Digits. */
  readonly id: string;
};

const NUMBER = /^(?:0|[1-9]\d{0,17})$/;

/** Whether a text is an integer id as the service writes it: digits, no sign, no leading zero. */
export const isNumber = (text: string | undefined): text is string => text !== undefined && NUMBER.test(text);

/**
 * Reads a reference: `ada.mnist.builds.7` with infix `builds`, `ada.mnist.3` without. The caller names the spelling
 * because the text alone is ambiguous: experiments and groups are spelled alike. Gives null when the text is no
 * such reference.
 */
export function parseReference(text: string, { infix, inGroup }: Spelling): RunAddress | null {
  const parts = text.split(".");
  const id = parts.at(-1);
  if (!isNumber(id)) return null;
  if (infix === null) {
    const [owner, project, group] = parts;
    const shape = parts.length === 3 || (inGroup && parts.length === 4 && isNumber(group));
    return shape && owner && project ? { owner, project, id } : null;
  }
  // Only here can an owner's name hold dots: the infix marks where the project ends.
  const project = parts.at(-3);
  const owner = parts.slice(0, -3).join(".");
  return parts.at(-2) === infix && owner && project ? { owner, project, id } : null;
}

export const EXPERIMENT: Spelling = { infix: null, inGroup: true };
export const GROUP: Spelling = { infix: null, inGroup: false };
export const JOB: Spelling = { infix: "jobs", inGroup: false };
export const BUILD: Spelling = { infix: "builds", inGroup: false };

export type ExperimentJobAddress = {
  readonly owner: string;
  readonly project: string;
  readonly experiment: string;
  readonly id: string;
};

/** Reads `<experiment>.<job id>.<role>`, such as `ada.mnist.3.1.master` or, inside group 2, `ada.mnist.2.3.1.master`. */
export function parseExperimentJob(text: string): ExperimentJobAddress | null {
  const parts = text.split(".");
  const id = parts.at(-2);
  const experiment = parseReference(parts.slice(0, -2).join("."), EXPERIMENT);
  if (!experiment || !isNumber(id) || !parts.at(-1)) return null;
  return { owner: experiment.owner, project: experiment.project, experiment: experiment.id, id };
}
