import { useCombobox } from "downshift";
import { useState } from "react";
import { type Address, hrefOf, projectOf, within } from "./address.ts";
import { completionsOf, type Names, readFilter } from "./filter.ts";
import { textOf } from "./format.ts";
import { graphql } from "./generated/index.ts";
import { useRead } from "./live.tsx";

const namesQuery = graphql(`
  query Names($project: ID!, $filter: RunFilter) {
    project(id: $project) {
      id
      experiments(first: 1, filter: $filter, order: { by: { field: CREATED_AT } }) {
        summary {
          isComplete
          metrics {
            name
          }
          parameters(onlyDifferences: false) {
            name
            values {
              value
            }
          }
          users: breakdown(by: [{ property: USER }], metrics: []) {
            values
          }
          tags: breakdown(by: [{ property: TAG }], metrics: []) {
            values
          }
        }
      }
    }
  }
`);

const textsIn = (rows: readonly { readonly values: readonly unknown[] }[] | null) =>
  (rows ?? []).flatMap(({ values: [value] }) => (value === null ? [] : textOf(value)));

/** The names that a filter can use, from the newest 1,000 runs of the list. Undefined: not read yet. Null: reading failed. */
export function useNames(list: string, isNeeded: boolean): Names | undefined | null {
  const { data, error, fetching } = useRead({
    query: namesQuery,
    variables: { project: projectOf(list), filter: within(list, null) },
    pause: !isNeeded,
  });
  const summary = data?.project?.experiments?.summary;
  if (!summary) return isNeeded && !fetching && error ? null : undefined;
  const { isComplete, metrics, parameters, users, tags } = summary;
  return {
    isComplete,
    metrics: (metrics ?? []).map(({ name }) => name),
    parameters: Object.fromEntries(
      (parameters ?? []).map(({ name, values }) => [name, values.map(({ value }) => textOf(value))]),
    ),
    users: textsIn(users),
    tags: textsIn(tags),
  };
}

interface FilterLineProps {
  readonly address: Address;
  readonly names: Names | undefined;
  /** Called when the names are needed. */
  readonly onFocus: () => void;
}

/** An input for a line of conditions. It completes names and values, and reports unknown names immediately. */
export function FilterLine({ address, names, onFocus }: FilterLineProps) {
  const { filter = "" } = address;
  const [text, setText] = useState(filter);
  const [shown, setShown] = useState(filter);
  if (shown !== filter) {
    setShown(filter);
    setText(filter);
  }
  const items = completionsOf(text, names);
  const { problems } = readFilter(text, names);
  const { isOpen, highlightedIndex, getInputProps, getLabelProps, getMenuProps, getItemProps } = useCombobox({
    items: [...items],
    inputValue: text,
    selectedItem: null,
    // A selected name stays in the line, so that its value can be typed next.
    onSelectedItemChange: ({ selectedItem }) => selectedItem !== null && setText(selectedItem),
    stateReducer: (_state, { type, changes }) =>
      type === useCombobox.stateChangeTypes.InputKeyDownEnter ||
      type === useCombobox.stateChangeTypes.ItemClick
        ? { ...changes, isOpen: changes.selectedItem?.endsWith(":") ?? false }
        : changes,
  });
  const isList = isOpen && items.length > 0;
  return (
    <form
      className="filter"
      role="search"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        if (problems.length === 0) location.hash = hrefOf({ ...address, filter: text.trim() });
      }}
    >
      <label {...getLabelProps()}>Filter</label>
      <div className="combobox">
        <input
          {...getInputProps({
            onFocus,
            // Updates the text immediately. downshift reports it after the next frame, when a second key may have been pressed.
            onChange: ({ currentTarget }) => setText(currentTarget.value),
            onKeyDown: ({ key, currentTarget }) => {
              if (key === "Enter" && highlightedIndex < 0) currentTarget.form?.requestSubmit();
            },
          })}
          placeholder="loss<0.3 lr>=0.02 status:failed tag:cnn"
          spellCheck={false}
          autoCapitalize="none"
          aria-invalid={problems.length > 0}
          aria-describedby="filter-problems"
        />
        <ul {...getMenuProps()} className="panel" data-open={isList || undefined}>
          {isList &&
            items.map((item, index) => (
              <li key={item} {...getItemProps({ item, index })}>
                {item.slice(Math.max(0, item.lastIndexOf(" ") + 1))}
              </li>
            ))}
        </ul>
      </div>
      <button>Filter</button>
      {filter && <a href={hrefOf({ ...address, filter: undefined })}>All runs</a>}
      <div id="filter-problems" role="alert" className={problems.length > 0 ? "note" : undefined}>
        {problems.join(" ")}
        {problems.length > 0 && text === filter && " The filter ignores this."}
      </div>
    </form>
  );
}
