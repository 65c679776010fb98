import type { ChangeEvent, FormEvent } from "react";
import { type Address, hrefOf } from "./address.ts";
import { DATES, metricIn } from "./sort.ts";
import { BOUND_PATTERN, CONDITION_PATTERN, unfiltered } from "./view.ts";

const STATUSES = ["RUNNING", "SUCCEEDED", "FAILED", "STOPPED", "CREATED", "SCHEDULED", "UNSCHEDULABLE"];

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
      <input
        type="search"
        name="words"
        aria-label="Words"
        placeholder="Search"
        title="Words of the name, the description or the tags"
        maxLength={200}
        defaultValue={words}
      />
      <select name="status" aria-label="Status" defaultValue={status ?? ""} onChange={choose}>
        <option value="">Any status</option>
        {STATUSES.map((each) => (
          <option key={each} value={each}>
            {each.toLowerCase()}
          </option>
        ))}
      </select>
      <input name="tag" aria-label="Tag" placeholder="Tag" defaultValue={tag} />
      <input
        name="parameter"
        aria-label="Parameter"
        placeholder="lr>=0.02"
        title="A parameter and a value: lr>=0.02, activation=relu"
        pattern={CONDITION_PATTERN}
        defaultValue={parameter}
      />
      <input
        name="bound"
        aria-label="Metric"
        placeholder="loss<0.3"
        title="A metric and a bound: loss<0.3"
        pattern={BOUND_PATTERN}
        defaultValue={bound}
      />
      <select name="sort" aria-label="Order" defaultValue={sort ?? ""} onChange={choose}>
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
      <button>Filter</button>
      {(words || status || tag || parameter || bound) && <a href={hrefOf(unfiltered(address))}>All runs</a>}
    </form>
  );
}
