/*
 * What is noted beside runs and projects. Notes refer to these as objects, because the store imports this file.
 */

/** The caller's filter and order of a list, in the language of the server. */
export interface SavedSearch {
  readonly id: number;
  readonly project: object;
  readonly kind: string;
  readonly user: string;
  readonly name: string;
  readonly query: unknown;
  readonly meta: unknown;
}

export interface ChartView {
  readonly id: number;
  readonly run: object;
  readonly name: string;
  readonly charts: unknown;
  readonly meta: unknown;
  readonly createdAt: number;
}

/** What somebody did with a run or a project, or that somebody looked at it. */
export interface Activity {
  readonly id: number;
  readonly action: string;
  readonly subject: string;
  readonly actor: string;
  readonly at: number;
  readonly objectId: number;
  readonly objectName: string;
  readonly project: object;
}

export interface Notes {
  readonly searches: Map<number, SavedSearch>;
  readonly chartViews: Map<number, ChartView>;
  /** Latest first. */
  readonly activity: Activity[];
}

export const createNotes = (): Notes => ({ searches: new Map(), chartViews: new Map(), activity: [] });
