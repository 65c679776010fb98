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

/** Key of the token in the storage of this tab. The token survives a reload, but is gone once the tab is closed. */
const KEY = "runs:token";

function kept(): Session {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { token };
}

/** Stores the token. Without a token, clears the storage, including the selected runs. */
const keep = (token: string | undefined) =>
  token === undefined ? sessionStorage.clear() : sessionStorage.setItem(KEY, token);

function App() {
  const [{ token, ended }, setSession] = useState<Session>(kept);
  // Stores the token before the page shows that the user is signed in, so that a reload finds it.
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

/** The page of a signed-in user: the start page, a separate sheet, or a list of runs with one run beside it. */
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

/** The breadcrumb. It is the only way back on a narrow page, which shows one selection at a time. */
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
