import { builder } from "../core/builder.ts";

const STRATEGIES = {
  RESTART: { description: "Run again from the beginning." },
  RESUME: { description: "Continued where the original ended." },
  COPY: { description: "Run again with a copy of the original's outputs." },
  OTHER: { description: "A way that this schema does not know. See `rawCloningStrategy`." },
} as const;

export const CloningStrategyEnum = builder.enumType("CloningStrategy", {
  description:
    "How a run was created from another one. Values can be added in a minor release: clients need a default branch.",
  values: STRATEGIES,
});

/** Converts a cloning strategy to the enum: unknown text is `OTHER`. Null for a run that is no clone. */
export function cloningStrategyOf(raw: string | null | undefined): keyof typeof STRATEGIES | null {
  if (!raw) return null;
  const name = raw.toUpperCase();
  return Object.hasOwn(STRATEGIES, name) ? (name as keyof typeof STRATEGIES) : "OTHER";
}
