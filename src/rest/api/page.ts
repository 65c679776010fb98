import { jsonWithList } from "./reader.ts";
import { integer, isObject, placeOf, type Read, requiredRecords, text } from "./record.ts";

export interface Page<Item> {
  readonly count?: number | null | undefined;
  /** The link to the next page. Null or empty on the last page. */
  readonly next?: string | null | undefined;
  readonly results: readonly Item[];
}

export const pageOf = <Item>(item: Read<Item>) =>
  jsonWithList({ count: integer, next: text, results: requiredRecords }, "results", item);

/** A bookmark, which outlives its item. */
export interface Bookmark<Item> {
  readonly content_object: Item | null;
}

/** Creates the reader of a page of bookmarks, each of which holds its item. */
export const bookmarksOf = <Item>(read: Read<Item>) =>
  pageOf<Bookmark<Item>>((bookmark, faults, parent = "", key = "") => {
    const received = isObject(bookmark) ? bookmark["content_object"] : undefined;
    if (received == null) return { content_object: null };
    const item = read(received, faults, placeOf(parent, key), "content_object");
    return item === null ? null : { content_object: item };
  });
