import { type FormEvent, useState } from "react";
import { type Address, hrefOf, partsOf, replaceAddress } from "./address.ts";
import { labelOf } from "./columns.tsx";
import { Download } from "./files.tsx";
import { Menu } from "./parts.tsx";
import { moved } from "./table.tsx";

interface ToolbarProps {
  readonly address: Address;
  /** Ids of all columns, and of the shown ones in order. */
  readonly all: readonly string[];
  readonly shown: readonly string[];
  /** Downloads of the runs: label, URL and file name. */
  readonly files: readonly (readonly [string, string, string])[];
}

/** Groups, columns and views of the table, and downloads of the runs. */
export function Toolbar({ address, all, shown, files }: ToolbarProps) {
  const grouping = partsOf(address.group);
  const groupBy = (at: number, id: string) =>
    replaceAddress({ ...address, group: [...grouping.slice(0, at), id].join(",") });
  return (
    <div className="toolbar">
      {[...grouping, ""].slice(0, 3).map((chosen, at) => (
        <label key={at}>
          {at === 0 ? "Group by" : "then by"}
          <select value={chosen} onChange={({ currentTarget }) => groupBy(at, currentTarget.value)}>
            <option value="">{at === 0 ? "nothing" : "nothing more"}</option>
            {all
              .filter((id) => !id.startsWith("metric.") && (id === chosen || !grouping.includes(id)))
              .map((id) => (
                <option key={id} value={id}>
                  {labelOf(id)}
                </option>
              ))}
          </select>
        </label>
      ))}
      <Columns address={address} all={all} shown={shown} />
      <Views address={address} />
      <Menu label="Export">
        {files.map(([label, url, name]) => (
          <Download key={name} url={url} name={name} label={label} />
        ))}
      </Menu>
    </div>
  );
}

function Columns({ address, all, shown }: Omit<ToolbarProps, "files">) {
  const pinned = partsOf(address.pin);
  const show = (columns: string) => replaceAddress({ ...address, columns });
  const toggle = (id: string) =>
    show((shown.includes(id) ? shown.filter((each) => each !== id) : [...shown, id]).join(","));
  const pin = (id: string) =>
    replaceAddress({
      ...address,
      pin: (pinned.includes(id) ? pinned.filter((each) => each !== id) : [...pinned, id]).join(","),
    });
  return (
    <Menu label="Columns">
      <p className="hint dragging">You can also drag the headings.</p>
      <ul className="columns" aria-label="Columns">
        {[...shown, ...all.filter((id) => !shown.includes(id))].map((id) => {
          const at = shown.indexOf(id);
          const [left, right] = [shown[at - 1], shown[at + 1]];
          return (
            <li key={id}>
              <label>
                <input type="checkbox" checked={at >= 0} onChange={() => toggle(id)} /> {id.replace(".", " ")}
              </label>
              {at >= 0 && (
                <>
                  <button
                    aria-label={`Move ${labelOf(id)} to the left`}
                    disabled={left === undefined}
                    onClick={() => left && show(moved(shown, id, left))}
                  >
                    ←
                  </button>
                  <button
                    aria-label={`Move ${labelOf(id)} to the right`}
                    disabled={right === undefined}
                    onClick={() => right && show(moved(shown, id, right))}
                  >
                    →
                  </button>
                  <button
                    aria-label={`Pin ${labelOf(id)}`}
                    aria-pressed={pinned.includes(id)}
                    onClick={() => pin(id)}
                  >
                    Pin
                  </button>
                </>
              )}
            </li>
          );
        })}
      </ul>
    </Menu>
  );
}

/** The parts of an address that a view contains. */
const viewOf = ({ filter, sort, group, columns, pin }: Address) => ({ filter, sort, group, columns, pin });

/** The views of a list, which this browser stores by name. Each is a link that contains the whole view. */
function Views({ address }: { address: Address }) {
  const { list = "", view = "" } = address;
  const key = `runs:views:${list}`;
  const [views, setViews] = useState<Readonly<Record<string, Address>>>(
    // Safe: this page wrote it.
    () => JSON.parse(localStorage.getItem(key) ?? "{}") as Record<string, Address>,
  );
  function keep(next: Readonly<Record<string, Address>>) {
    localStorage.setItem(key, JSON.stringify(next));
    setViews(next);
  }
  function save(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name")).trim();
    keep({ ...views, [name]: viewOf(address) });
    replaceAddress({ ...address, view: name });
  }
  const { [view]: kept } = views;
  const isChanged = kept !== undefined && hrefOf(kept) !== hrefOf(viewOf(address));
  return (
    <Menu label={view ? `View: ${view}${isChanged ? " (changed)" : ""}` : "Views"}>
      <ul className="columns" aria-label="Views">
        {Object.entries(views).map(([name, each]) => (
          <li key={name}>
            <a
              href={hrefOf({ list, ...each, view: name })}
              aria-current={name === view || undefined}
              onClick={({ currentTarget }) => currentTarget.closest<HTMLElement>("[popover]")?.hidePopover()}
            >
              {name}
            </a>
            <button
              aria-label={`Remove the view ${name}`}
              onClick={() =>
                keep(Object.fromEntries(Object.entries(views).filter(([other]) => other !== name)))
              }
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <form className="open" onSubmit={save}>
        <label>
          Name of this view
          <input key={view} name="name" defaultValue={view} required pattern=".*\S.*" maxLength={60} />
        </label>
        <button>Save</button>
      </form>
      <p className="hint">Saved in this browser. To share a view, send its address to others.</p>
    </Menu>
  );
}
