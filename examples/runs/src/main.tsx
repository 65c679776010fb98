import { StrictMode, useLayoutEffect, useMemo, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { type Address, hrefOf, useAddress } from "./address.ts";
import { Archive } from "./archive.tsx";
import { connect, SessionContext } from "./client.ts";
import { Compare } from "./compare.tsx";
import { List } from "./list.tsx";
import { Matters } from "./matters.tsx";
import { useFocusWhenLost } from "./parts.tsx";
import { Run } from "./run.tsx";
import { SignIn } from "./sign-in.tsx";
import { Start } from "./start.tsx";

interface Session {
  readonly token?: string;
  readonly ended?: boolean;
}

/** The token outlives a reload of this tab. Nothing of it is left when the tab is closed, and other tabs do not have it. */
const KEY = "runs:token";

function kept(): Session {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { token };
}

/** The selection of runs goes with the session. */
const keep = (token: string | undefined) =>
  token === undefined ? sessionStorage.clear() : sessionStorage.setItem(KEY, token);

function App() {
  const [{ token, ended }, setSession] = useState<Session>(kept);
  // Before the page shows that somebody is signed in, so that a reload finds it.
  useLayoutEffect(() => keep(token), [token]);
  const client = useMemo(() => connect(token, () => setSession({ ended: true })), [token]);
  return (
    <Provider value={client}>
      {token ? (
        <SessionContext value={token}>
          <Board onSignOut={() => setSession({})} />
        </SessionContext>
      ) : (
        <SignIn ended={ended ?? false} onToken={(fresh) => setSession({ token: fresh })} />
      )}
    </Provider>
  );
}

/** The page of somebody who is signed in: the start page, a page of its own, or a list of runs with one run beside it. */
function Board({ onSignOut }: { onSignOut: () => void }) {
  const address = useAddress();
  const { list, archive, compare, matters } = address;
  return (
    <>
      <header>
        <Crumbs address={address} />
        <button onClick={onSignOut}>Sign out</button>
      </header>
      {archive && <Archive />}
      {!archive && compare && <Compare address={address} />}
      {!archive && !compare && matters && <Matters address={address} />}
      {!archive && !compare && !matters && (list ? <Selected list={list} address={address} /> : <Start />)}
    </>
  );
}

/** The way back; on a narrow page, where only the last selection is shown, the only one. */
function Crumbs({ address }: { address: Address }) {
  const { run, archive, compare, matters, ...listed } = address;
  const { list } = listed;
  const here = (archive && "archive") || (compare && "compare") || (matters && "what matters") || run;
  return (
    <nav aria-label="Breadcrumb" className="crumbs">
      <h1>{list || here ? <a href="#">Runs</a> : "Runs"}</h1>
      {list &&
        (here ? (
          <a href={hrefOf({ ...listed, show: undefined })}>{list}</a>
        ) : (
          <span aria-current="page">{list}</span>
        ))}
      {here && <span aria-current="page">{here}</span>}
    </nav>
  );
}

function Selected({ list, address }: { list: string; address: Address }) {
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

createRoot(document.body).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
