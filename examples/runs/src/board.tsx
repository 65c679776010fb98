import { useRef } from "react";
import { type Address, hrefOf, isGroup, useAddress } from "./address.ts";
import { useFocusWhenLost } from "./focus.ts";
import { GroupRuns } from "./group.tsx";
import { pageOf } from "./pages.tsx";
import { ProjectRuns } from "./project.tsx";
import { Run } from "./run.tsx";
import { SelectingContext, useSelecting } from "./selected.ts";
import { Start } from "./start.tsx";

/** The page of somebody who is signed in: the start page, or a list of runs with one run beside it. */
export function Board({ onSignOut }: { onSignOut: () => void }) {
  const address = useAddress();
  return (
    <SelectingContext value={useSelecting(address.list)}>
      <header>
        <Crumbs address={address} />
        <button onClick={onSignOut}>Sign out</button>
      </header>
      {pageOf(address)?.element ??
        (address.list ? <Selected list={address.list} address={address} /> : <Start />)}
    </SelectingContext>
  );
}

/** The way back; on a narrow page, where only the last selection is shown, the only one. */
function Crumbs({ address }: { address: Address }) {
  const { list, run, sort } = address;
  const here = pageOf(address)?.name ?? run;
  return (
    <nav aria-label="Breadcrumb" className="crumbs">
      <h1>{list || here ? <a href="#">Runs</a> : "Runs"}</h1>
      {list && (here ? <a href={hrefOf({ list, sort })}>{list}</a> : <span aria-current="page">{list}</span>)}
      {here && <span aria-current="page">{here}</span>}
    </nav>
  );
}

function Selected({ list, address }: { list: string; address: Address }) {
  const List = isGroup(list) ? GroupRuns : ProjectRuns;
  const [listPane, runPane] = [useRef<HTMLElement>(null), useRef<HTMLElement>(null)];
  useFocusWhenLost(address.run ? runPane : listPane, address.run ?? list);
  return (
    <main className="board" data-shows={address.run ? "run" : "list"}>
      <title>{`${address.run ?? list} – Runs`}</title>
      <section className="panel list" ref={listPane} tabIndex={-1} aria-label={list}>
        <List key={list} name={list} address={address} />
      </section>
      {address.run && (
        <section className="panel run" ref={runPane} tabIndex={-1} aria-label={address.run}>
          <Run key={address.run} name={address.run} address={address} />
        </section>
      )}
    </main>
  );
}
