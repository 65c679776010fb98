import { measure } from "./curves.ts";
import type { Experiment } from "./model.ts";
import type { Occurrence } from "./store.ts";

/** A status and how many seconds after the run's creation it is reached, with the reason if there is one. */
export type Step = readonly [after: number, status: string, message?: string | undefined];

export function history(createdAt: number, steps: readonly Step[]): Occurrence[] {
  return steps.map(([after, status, message]) => ({ at: createdAt + after * 1_000, status, message }));
}

export interface Career {
  /** Seconds from creation until the experiment is scheduled. */
  readonly wait?: number;
  readonly epochs: number;
  /** Seconds that an epoch takes. */
  readonly every: number;
  /** The status that it ends with, one epoch's time after the last metrics. */
  readonly end: string;
  readonly message?: string | undefined;
}

/** Everything that happens to an experiment that gets as far as running. */
export function career(
  experiment: Experiment,
  { wait = 64, epochs, every, end, message }: Career,
): Occurrence[] {
  const running = wait + 29;
  const measures = Array.from({ length: epochs }, (_, epoch) => ({
    at: experiment.createdAt + (running + (epoch + 1) * every) * 1_000,
    values: measure(experiment.id, experiment.declarations, epoch),
  }));
  const start: Step[] = [
    [0, "created"],
    [wait - 43, "building"],
    [wait, "scheduled"],
    [wait + 15, "starting"],
    [running, "running"],
  ];
  const ending: Step = [running + (epochs + 1) * every, end, message];
  return [...history(experiment.createdAt, start), ...measures, ...history(experiment.createdAt, [ending])];
}
