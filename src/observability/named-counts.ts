import { Counter, type Registry } from "prom-client";

/** What is counted under one pair of names. */
interface Counts {
  operations: number;
  failed: number;
  seconds: number;
}

interface Entry extends Counts {
  readonly labels: Readonly<Record<string, string>>;
  usedAt: number;
}

interface Settings {
  readonly labelNames: readonly [string, string];
  /** Maximum pairs of names that callers choose. */
  readonly max: number;
  readonly metrics: readonly { readonly name: string; readonly help: string; readonly key: keyof Counts }[];
  readonly registers: Registry[];
  /** Milliseconds since any fixed point. */
  readonly now: () => number;
}

/**
 * A name gives its place to a new one when it was unused for this time, in milliseconds. So a process names at most `max`
 * new ones in it, however many there are.
 */
const UNUSED_MS = 600_000;

/** Names that are counted as they are. */
const NAME = /^[\w@](?:[\w .@/:+-]{0,62}[\w+])?$/;

export const isName = (text: string): boolean => NAME.test(text);

/** Creates counters by pairs of names. They are filled when they are read: counting is one look-up. */
export function createNamedCounts({ labelNames, max, metrics, registers, now }: Settings) {
  const chosen = new Map<string, Entry>();
  const fixed = new Map<string, Entry>();
  for (const { name, help, key } of metrics) {
    void new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const entries of [fixed, chosen])
          for (const entry of entries.values()) this.inc(entry.labels, entry[key]);
      },
    });
  }

  const entryIn = (entries: Map<string, Entry>, first: string, second: string): Entry => {
    const key = keyOf(first, second);
    const existing = entries.get(key);
    if (existing) return existing;
    const labels = { [labelNames[0]]: first, [labelNames[1]]: second };
    const entry = { labels, operations: 0, failed: 0, seconds: 0, usedAt: 0 };
    entries.set(key, entry);
    return entry;
  };

  /** Whether there is a place for new names. Frees that of the least recently used ones if they were unused for long. */
  const hasPlace = (): boolean => {
    if (chosen.size < max) return true;
    const [key, { usedAt }] = [...chosen].reduce((oldest, each) =>
      each[1].usedAt < oldest[1].usedAt ? each : oldest,
    );
    return now() - usedAt >= UNUSED_MS && chosen.delete(key);
  };

  return {
    /** The counts of names that the gateway chooses: there are few, and they stay. */
    fixed: (first: string, second: string): Counts => entryIn(fixed, first, second),
    /** The counts of names that a caller chose; null if they are not counted by name. Only `isTrusted` brings new ones. */
    chosen: (first: string, second: string, isTrusted: boolean): Counts | null => {
      const isKnown = chosen.has(keyOf(first, second));
      if (!isKnown && !(isTrusted && isName(first) && isName(second) && hasPlace())) return null;
      const entry = entryIn(chosen, first, second);
      entry.usedAt = now();
      return entry;
    },
  };
}

/** No header and no name has a line break. */
const keyOf = (first: string, second: string): string => `${first}\n${second}`;
