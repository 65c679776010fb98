import type { ChangeEvent, FormEvent } from "react";
import { type Address, hrefOf } from "./address.ts";
import { DATES, metricIn } from "./sort.ts";
import { BOUND_PATTERN, CONDITION_PATTERN, misreadIn, unfiltered } from "./view.ts";

const STATUSES = [
  "RUNNING",
  "SUCCEEDED",
  "FAILED",
  "STOPPED",
  "CREATED",
  "BUILDING",
  "SCHEDULED",
  "STARTING",
  "WARNING",
  "UNSCHEDULABLE",
];

/** Follows the form to the address: what it says is what the list shows, also after a reload. */
function show(form: HTMLFormElement, address: Address): void {
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  location.hash = hrefOf({ ...unfiltered(address), ...given });
}

const choose = ({ currentTarget: { form } }: ChangeEvent<HTMLSelectElement>) => form?.requestSubmit();

/** Narrows and orders a list of runs. */
export function FilterBar({ address }: { readonly address: Address }) {
  const { words, status, tag, parameter, bound, sort } = address;
  const metric = metricIn(sort)?.name;
  const misread = misreadIn(address);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    show(event.currentTarget, address);
  };
  return (
    // Another address is another form: what was typed and not sent goes with it.
    <form
      key={[words, status, tag, parameter, bound, sort].join()}
      className="filters"
      aria-label="Filter"
      onSubmit={submit}
    >
      <label>
        Words
        <input
          type="search"
          name="words"
          title="Words of the name, the description or the tags"
          maxLength={200}
          defaultValue={words}
        />
      </label>
      <label>
        Status
        <select name="status" defaultValue={status ?? ""} onChange={choose}>
          <option value="">any</option>
          {STATUSES.map((each) => (
            <option key={each} value={each}>
              {each.toLowerCase()}
            </option>
          ))}
        </select>
      </label>
      <label>
        Tag
        <input name="tag" defaultValue={tag} />
      </label>
      <label>
        Parameter
        <input
          name="parameter"
          placeholder="lr>=0.02"
          title="A parameter and a value, with commas between several: lr>=0.02, activation=relu"
          pattern={CONDITION_PATTERN}
          defaultValue={parameter}
        />
      </label>
      <label>
        Metric
        <input
          name="bound"
          placeholder="loss<0.3"
          title="A metric and a bound, with commas between several: loss<0.3, accuracy>0.9"
          pattern={BOUND_PATTERN}
          defaultValue={bound}
        />
      </label>
      <label>
        Order
        <select name="sort" defaultValue={sort ?? ""} onChange={choose}>
          <option value="">Newest first</option>
          {Object.entries(DATES).map(([value, order]) => (
            <option key={value} value={value}>
              {order}
            </option>
          ))}
          {metric && (
            <>
              <option value={metric}>Best {metric} first</option>
              <option value={`${metric}:worst`}>Worst {metric} first</option>
            </>
          )}
        </select>
      </label>
      <button>Filter</button>
      {(words || status || tag || parameter || bound) && <a href={hrefOf(unfiltered(address))}>All runs</a>}
      {misread.length > 0 && (
        <p role="alert" className="note">
          Not understood, and not filtered by: {misread.join(" and ")}. Conditions look like lr&gt;=0.02, with
          commas between several.
        </p>
      )}
    </form>
  );
}
