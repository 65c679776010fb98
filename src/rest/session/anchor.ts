import type { Page } from "../api/page.ts";
import type { Anchor } from "./position.ts";

/*
 * A list that is read by offsets shifts when items come, go or move. So a page begins with the item before it, its anchor: where
 * that one is found, the page goes on, and nothing is left out that is still behind it.
 */

/** How the items of a list are known again. */
export interface Anchors<Item> {
  readonly idOf: (item: Item) => string;
  /** The value by which an item has its place. An item that has another one has moved. */
  readonly valueOf: (item: Item) => string | null | undefined;
  /**
   * How items move: `never`; `away`, as items do whose dates are set, so that the place of the anchor and the length of the
   * list tell that one may have moved before it; null when they do as they like.
   */
  readonly moves: "never" | "away" | null;
}

/** The value of an item as a cursor holds it. */
const markOf = <Item>({ valueOf }: Anchors<Item>, item: Item): string =>
  (valueOf(item) ?? "").replaceAll(/[^\w:.+-]/g, "").slice(0, 40);

/** The anchor of the items behind this one. */
export const anchorAt = <Item>(anchors: Anchors<Item>, item: Item, count: number | null): Anchor => ({
  id: anchors.idOf(item),
  count,
  mark: markOf(anchors, item),
});

/** Part of a list from an offset. */
interface Part<Item> {
  readonly page: Page<Item>;
  readonly from: number;
}

interface Wanted<Item> {
  readonly anchor: Anchor;
  readonly anchors: Anchors<Item>;
  /** The place behind the anchor when it was read. */
  readonly offset: number;
  readonly wanted: number;
}

/** How many items one request looks through for an anchor, beside those that are wanted. */
const FARTHEST = 100;

/**
 * Reads the items behind an anchor. `start` is the index of the first of them in the page. With a second request if the anchor is
 * neither where it was nor among the items that follow there.
 */
export async function readBehind<Item, P extends Part<Item>>(
  { anchor, anchors, offset, wanted }: Wanted<Item>,
  read: (from: number, most: number) => Promise<P>,
): Promise<P & { readonly start: number; readonly isContinuous: boolean | null }> {
  const indexIn = ({ page: { results } }: P) =>
    results.findIndex((item) => anchors.idOf(item) === anchor.id && markOf(anchors, item) === anchor.mark);
  const found = async (part: P, index: number) => {
    const { page, from } = part;
    const place = from + index;
    const isSame = place === offset - 1 && (page.count ?? null) === anchor.count;
    const isContinuous =
      anchors.moves === "never" ? true : !isSame ? false : anchors.moves === null ? null : true;
    // The server's pages can be so short that nothing follows in this one.
    const isAlone = index === page.results.length - 1 && place + 1 < (page.count ?? Number.POSITIVE_INFINITY);
    return isAlone
      ? { ...(await read(place + 1, wanted)), start: 0, isContinuous }
      : { ...part, start: index + 1, isContinuous };
  };
  const part = await read(offset - 1, wanted + 1);
  const index = indexIn(part);
  if (index >= 0) return found(part, index);
  const dropped = Math.max(0, (anchor.count ?? 0) - (part.page.count ?? Number.POSITIVE_INFINITY));
  const gone = Math.min(dropped, offset - 1);
  // Farther back than what has gone a walk must not lead in a circle: each page gets ahead.
  const reach = Math.min(offset - 1 - gone, Math.max(0, part.page.results.length - 2));
  // What was behind an anchor that has gone, or moved, is nearer by as much as the list is shorter.
  const start = offset - Math.min(offset, dropped > 0 ? dropped : Math.min(1, reach));
  const from = offset - 1 - gone - reach;
  if (from === part.from) return { ...part, start: start - from, isContinuous: false };
  const following = Number.isFinite(wanted) ? wanted : part.page.results.length;
  const earlier = await read(from, reach + Math.min(gone, FARTHEST) + 1 + following);
  const place = indexIn(earlier);
  return place >= 0 ? found(earlier, place) : { ...earlier, start: start - from, isContinuous: false };
}

/** Whether two parts go on without a gap: not if one of them does not; null if one cannot tell. */
export const joined = (left: boolean | null, right: boolean | null): boolean | null =>
  left === false || right === false ? false : left === null ? null : right;
