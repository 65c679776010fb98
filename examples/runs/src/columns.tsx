import { type Address, replaceAddress } from "./address.ts";
import { hiddenIn, VALUES, valuesIn } from "./view.ts";

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
  const values = valuesIn(address);
  const toggleValue = (value: (typeof VALUES)[number]) => {
    const next = VALUES.filter((each) => values.includes(each) !== (each === value));
    replaceAddress({ ...address, values: next.join(",") });
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
      <fieldset>
        <legend>Of each metric also its</legend>
        {VALUES.map((each) => (
          <label key={each}>
            <input type="checkbox" checked={values.includes(each)} onChange={() => toggleValue(each)} />{" "}
            {each}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
