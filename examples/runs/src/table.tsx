import { type Row, useTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ComponentProps, type DragEvent, type MouseEvent, useMemo, useRef, useState } from "react";
import { type Address, hrefOf, partsOf, replaceAddress } from "./address.ts";
import { columnsOf, features, firstOrderOf, labelOf, type Spread } from "./columns.tsx";
import { many } from "./format.ts";
import type { Mark } from "./selected.ts";
import type { Run } from "./use-runs.ts";

/** Height of a row in pixels. `list.css` must have the same. */
const HEIGHT = 36;
/** Width of the column of names in pixels. `list.css` must have the same, except on phones, which pin no other column. */
const NAME = 168;
/** Number of rows from the end of the loaded ones at which the next page is read. */
const AHEAD = 20;

interface TableProps {
  readonly runs: readonly Run[];
  /** Ids of the shown columns, in order. */
  readonly columns: readonly string[];
  /** Whether the page sorts the runs, and not the service. */
  readonly isOwnOrder: boolean;
  /** Whether a changed list is being read, and these are still the runs of the previous one. */
  readonly isOld: boolean;
  readonly address: Address;
  readonly selected: ReadonlyMap<string, string>;
  readonly select: Mark;
  /** Called when the end of the loaded runs comes into view. */
  readonly onEnd: () => void;
}

/** The table of runs. Only rows in view are rendered. Groups of runs fold and unfold. */
export function Table({ runs, columns, isOwnOrder, isOld, address, selected, select, onEnd }: TableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [expanded, setExpanded] = useState<true | Record<string, boolean>>({});
  const { list = "", sort = "-created", group, pin } = address;
  const grouping = partsOf(group);
  const ids = columns.join();
  const definitions = useMemo(() => columnsOf(ids ? ids.split(",") : []), [ids]);
  const sorted = sort.replace(/^-/, "");
  // Beside an open run there is room for few columns, so the sorted one comes first.
  const pinned = partsOf(address.run && columns.includes(sorted) ? `${sorted},${pin ?? ""}` : pin);
  const sorting = columns.includes(sorted)
    ? [{ id: sorted, desc: sort.startsWith("-") }]
    : grouping.map((id) => ({ id, desc: false }));
  const table = useTable({
    features,
    data: runs,
    columns: definitions,
    getRowId: ({ id }) => id,
    groupedColumnMode: false,
    autoResetExpanded: false,
    manualSorting: !isOwnOrder,
    state: {
      expanded,
      grouping,
      sorting,
      columnPinning: { start: pinned, end: [] },
      columnOrder: [...columns],
    },
    onExpandedChange: setExpanded,
  });
  const { rows } = table.getRowModel();
  const shownColumns = [...table.getStartLeafColumns(), ...table.getCenterLeafColumns()];
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => HEIGHT,
    overscan: 8,
    onChange: ({ range }) => {
      if (grouping.length === 0 && range && range.endIndex >= rows.length - AHEAD) onEnd();
    },
  });
  const items = virtual.getVirtualItems();
  const height = virtual.getTotalSize();
  const [before, after] = [items[0]?.start ?? 0, height - (items.at(-1)?.end ?? height)];
  const isEach = runs.length > 0 && runs.every(({ id }) => selected.has(id));
  const placeOf = (id: string) => {
    const style = { insetInlineStart: NAME + (table.getColumn(id)?.getStart("start") ?? 0) };
    return pinned.includes(id) ? { className: "pinned", style } : {};
  };
  const width = NAME + shownColumns.reduce((sum, column) => sum + column.getSize(), 0);

  return (
    <div className="scroll table" ref={box}>
      <table style={{ minWidth: width }} aria-busy={isOld} aria-rowcount={rows.length + 1} onClick={follow}>
        <caption className="visually-hidden">Runs of {list}</caption>
        <colgroup>
          <col />
          {shownColumns.map((column) => (
            <col key={column.id} style={{ width: column.getSize() }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" className="pinned">
              <input
                type="checkbox"
                aria-label="Select all loaded runs"
                checked={isEach}
                onChange={({ target }) => select(runs, target.checked)}
              />
              run
            </th>
            {shownColumns.map(({ id }) => (
              <Heading key={id} id={id} columns={columns} address={address} place={placeOf(id)} />
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr className="spacer" aria-hidden="true" style={{ height: before }} />}
          {items.map(({ index }) => {
            const row = rows[index];
            if (!row) return null;
            const { original: run } = row;
            const isGrouped = row.getIsGrouped();
            const leaves = isGrouped ? row.getLeafRows().filter((leaf) => !leaf.getIsGrouped()) : [row];
            const names = leaves.map(({ original }) => original);
            return (
              <tr key={row.id} aria-rowindex={index + 2} data-group={isGrouped || undefined}>
                <th scope="row" className="pinned" style={{ paddingLeft: 10 + 6 * row.depth }}>
                  <input
                    type="checkbox"
                    aria-label={`Select ${isGrouped ? `${many(names.length)} with ${groupOf(row)}` : run.uniqueName}`}
                    checked={names.every(({ id }) => selected.has(id))}
                    onChange={({ target }) => select(names, target.checked)}
                  />
                  {isGrouped ? (
                    <button
                      className="plain"
                      aria-expanded={row.getIsExpanded()}
                      onClick={() => row.toggleExpanded()}
                    >
                      <span title={groupOf(row)}>
                        {String(row.groupingValue)}{" "}
                        <small className="hint">
                          {many(names.length)} · {labelOf(row.groupingColumnId ?? "")}
                        </small>
                      </span>
                    </button>
                  ) : (
                    <a
                      href={hrefOf({ ...address, run: run.uniqueName, show: undefined })}
                      aria-current={run.uniqueName === address.run ? "true" : undefined}
                    >
                      {run.uniqueName}
                    </a>
                  )}
                </th>
                {[...row.getStartVisibleCells(), ...row.getCenterVisibleCells()].map((cell) => (
                  <td key={cell.id} {...placeOf(cell.column.id)}>
                    {isGrouped ? inGroup(row, cell.column.id) : <table.FlexRender cell={cell} />}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && <tr className="spacer" aria-hidden="true" style={{ height: after }} />}
        </tbody>
      </table>
    </div>
  );
}

const groupOf = ({ groupingColumnId, groupingValue }: Row<typeof features, Run>) =>
  `${labelOf(groupingColumnId ?? "")} ${String(groupingValue)}`;

/** The cell of a group: the value that its runs share, or a summary of their values. */
const inGroup = (row: Row<typeof features, Run>, id: string) =>
  id === row.groupingColumnId ? String(row.groupingValue) : row.getValue<Spread | undefined>(id)?.words;

interface HeadingProps {
  readonly id: string;
  readonly columns: readonly string[];
  readonly address: Address;
  /** Class and style of a pinned column. */
  readonly place: ComponentProps<"th">;
}

/** A heading that sorts: first one direction, then the other, then newest first again. It can be dragged to another column's place. */
function Heading({ id, columns, address, place }: HeadingProps) {
  const { sort } = address;
  const [first, second] = [firstOrderOf(id), firstOrderOf(id).startsWith("-") ? id : `-${id}`];
  const next = sort === first ? second : sort === second ? undefined : first;
  const isSorted = sort === first || sort === second;
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const dragged = event.dataTransfer.getData("text/plain");
    if (columns.includes(dragged)) replaceAddress({ ...address, columns: moved(columns, dragged, id) });
  };
  return (
    <th
      scope="col"
      {...place}
      title={id}
      aria-sort={isSorted ? (sort.startsWith("-") ? "descending" : "ascending") : undefined}
      onDragOver={(event) => event.preventDefault()}
      onDrop={drop}
    >
      <a
        className="sort"
        href={hrefOf({ ...address, sort: next })}
        onDragStart={(event) => event.dataTransfer.setData("text/plain", id)}
      >
        {labelOf(id)}
      </a>
    </th>
  );
}

/** The columns after `id` has moved to the place of `to`. */
export function moved(columns: readonly string[], id: string, to: string): string {
  const others = columns.filter((each) => each !== id);
  const isRight = columns.indexOf(id) < columns.indexOf(to);
  return others.toSpliced(others.indexOf(to) + (isRight ? 1 : 0), 0, id).join(",");
}

/** Makes a whole row act as the link or button in its heading. */
function follow({ target, currentTarget }: MouseEvent<HTMLTableElement>) {
  if (!(target instanceof Element) || target.closest("a, button, input, thead")) return;
  const row = target.closest("tr");
  if (currentTarget.contains(row)) row?.querySelector<HTMLElement>("th a, th button")?.click();
}
