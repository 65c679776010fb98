import { type Address, replaceAddress } from "./address.ts";
import { hiddenIn } from "./view.ts";

interface ColumnsProps {
  readonly names: readonly string[];
  readonly address: Address;
}

/** Chooses the columns of the table. */
export function Columns({ names, address }: ColumnsProps) {
  const hidden = hiddenIn(address);
  const toggle = (name: string) => {
    const hide = hidden.includes(name) ? hidden.filter((each) => each !== name) : [...hidden, name];
    replaceAddress({ ...address, hide: hide.join(",") });
  };
  return (
    <details className="choice">
      <summary>Columns</summary>
      <fieldset>
        <legend className="visually-hidden">Columns that are shown</legend>
        {names.map((name) => (
          <label key={name}>
            <input type="checkbox" checked={!hidden.includes(name)} onChange={() => toggle(name)} /> {name}
          </label>
        ))}
        <p className="hint narrow">Parameters and tags are shown where there is room.</p>
      </fieldset>
    </details>
  );
}
