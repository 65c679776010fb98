export interface PlaceSettings {
  /** How many there are in all. */
  readonly total: number;
  /** How many one party may take. */
  readonly perParty: number;
}

/** Why there is no place: all are taken, or the party has its share. */
export type NoPlace = "all taken" | "share taken";

export interface Places {
  readonly refusalFor: (party: string) => NoPlace | null;
  /** Takes a place, whether or not there is one; the function that is given frees it, once. */
  readonly take: (party: string) => () => void;
  readonly taken: () => number;
}

/** Bounds how much of one thing goes on at a time, in all and for one party. Holds only parties that have a place. */
export function createPlaces({ total, perParty }: PlaceSettings): Places {
  const byParty = new Map<string, number>();
  let taken = 0;
  const change = (party: string, by: 1 | -1): void => {
    taken += by;
    const left = (byParty.get(party) ?? 0) + by;
    if (left === 0) byParty.delete(party);
    else byParty.set(party, left);
  };
  return {
    refusalFor: (party) =>
      (byParty.get(party) ?? 0) >= perParty ? "share taken" : taken >= total ? "all taken" : null,
    take: (party) => {
      let isFree = false;
      change(party, 1);
      return () => {
        if (isFree) return;
        isFree = true;
        change(party, -1);
      };
    },
    taken: () => taken,
  };
}
