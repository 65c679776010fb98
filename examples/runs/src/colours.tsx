/**
 * Colours of curves in light and in dark mode, after Okabe and Ito. People with any colour vision can distinguish them. Each is as dark or
 * as light as its background needs (contrast 3:1). Grey replaces a colour that would then be too near to another one.
 */
const COLOURS = [
  { light: "#0072b2", dark: "#4ba3e3" },
  { light: "#c85200", dark: "#f0813a" },
  { light: "#00805d", dark: "#2fc79c" },
  { light: "#a8447f", dark: "#e29ac0" },
  { light: "#8f6a00", dark: "#e6b422" },
  { light: "#1a222e", dark: "#e5e9f0" },
  { light: "#858b96", dark: "#8b95a3" },
] as const;

/** Dash patterns of lines, used when the colours repeat. */
const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

const colourAt = (place: number) => COLOURS[place % COLOURS.length] ?? COLOURS[0];

/** For CSS, which chooses between light and dark itself. */
function cssColourOf(place: number): string {
  const { light, dark } = colourAt(place);
  return `light-dark(${light}, ${dark})`;
}

export const darkMode = matchMedia("(prefers-color-scheme: dark)");

/** For a canvas, which does not support `light-dark()`. */
export const colourOf = (place: number) => colourAt(place)[darkMode.matches ? "dark" : "light"];

export const dashOf = (place: number): number[] => [
  ...(DASHES[Math.floor(place / COLOURS.length) % DASHES.length] ?? []),
];

/** The line of a curve, for legends. */
export function Swatch({ place }: { place: number }) {
  return (
    <svg className="swatch" viewBox="0 0 22 4" aria-hidden="true">
      <path d="M0 2h22" stroke={cssColourOf(place)} strokeDasharray={dashOf(place).join(" ")} />
    </svg>
  );
}
