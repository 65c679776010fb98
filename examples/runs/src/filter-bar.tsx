import { type ComponentProps, type FormEvent, useEffect, useRef } from "react";
import { type Address, hrefOf } from "./address.ts";
import { useClosing } from "./focus.ts";
import { DATES, metricIn, ownOrderIn, wordsOf } from "./sort.ts";
import { BOUND_PATTERN, CONDITION_PATTERN, misreadIn, STATUSES, statusesIn, unfiltered } from "./view.ts";

/** Follows the form to the address: what it says is what the list shows, also after a reload. */
function show(form: HTMLFormElement, address: Address): void {
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  location.hash = hrefOf({ ...unfiltered(address), status: address.status, ...given });
}

/** Narrows and orders a list of runs. */
export function FilterBar({ address }: { readonly address: Address }) {
  const { words, status, tag, parameter, bound } = address;
  const misread = misreadIn(address);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    show(event.currentTarget, address);
  };
  return (
    <form className="filters" aria-label="Filter" onSubmit={submit}>
      <label>
        Words
        <Field
          type="search"
          name="words"
          title="Words of the name, the description or the tags"
          maxLength={200}
          value={words}
        />
      </label>
      <Statuses address={address} />
      <label>
        Tag
        <Field name="tag" value={tag} />
      </label>
      <label>
        Parameter
        <Field
          name="parameter"
          placeholder="lr>=0.02"
          title="A parameter and a value, with commas between several: lr>=0.02, activation=relu"
          pattern={CONDITION_PATTERN}
          value={parameter}
        />
      </label>
      <label>
        Metric
        <Field
          name="bound"
          placeholder="loss<0.3"
          title="A metric and a bound, with commas between several: loss<0.3, accuracy>0.9"
          pattern={BOUND_PATTERN}
          value={bound}
        />
      </label>
      <label>
        Order
        <Order sort={address.sort} />
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

/** A field that follows the address, and keeps what is typed and the focus while only other fields change. */
function Field({
  value = "",
  ...given
}: Omit<ComponentProps<"input">, "value"> & { value: string | undefined }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current) input.current.value = value;
  }, [value]);
  return <input ref={input} defaultValue={value} {...given} />;
}

/** Any of several statuses. */
function Statuses({ address }: { address: Address }) {
  const chosen = statusesIn(address);
  const menu = useRef<HTMLDetailsElement>(null);
  useClosing(menu);
  const toggle = (name: string) => {
    const status = STATUSES.filter((each) => chosen.includes(each) !== (each === name));
    location.hash = hrefOf({ ...address, status: status.join(",") });
  };
  return (
    <details className="statuses" ref={menu}>
      <summary>
        Status <span>{chosen.length > 0 ? chosen.join(", ").toLowerCase() : "any"}</span>
      </summary>
      <fieldset>
        <legend className="visually-hidden">Statuses that are shown</legend>
        {STATUSES.map((each) => (
          <label key={each}>
            <input type="checkbox" checked={chosen.includes(each)} onChange={() => toggle(each)} />
            {each.toLowerCase()}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

/** Sent when it is chosen by a pointer or from the open list; the arrow keys only go through it, and Enter sends it. */
function Order({ sort = "" }: { sort: string | undefined }) {
  const select = useRef<HTMLSelectElement>(null);
  const isWalked = useRef(false);
  useEffect(() => {
    if (select.current) select.current.value = sort;
  }, [sort]);
  const metric = metricIn(sort)?.name;
  return (
    <select
      name="sort"
      ref={select}
      defaultValue={sort}
      onKeyDown={({ key, currentTarget: { form } }) => {
        if (key === "Enter") form?.requestSubmit();
        isWalked.current = true;
      }}
      onKeyUp={() => (isWalked.current = false)}
      onChange={({ currentTarget: { form } }) => {
        if (!isWalked.current) form?.requestSubmit();
      }}
    >
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
      {ownOrderIn(sort) && <option value={sort}>{wordsOf(sort)}</option>}
    </select>
  );
}
