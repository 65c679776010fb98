import { StrictMode, useLayoutEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { Board } from "./board.tsx";
import { connect } from "./client.ts";
import { keepFocus } from "./focus.ts";
import { SessionContext } from "./session.ts";
import { SignIn } from "./sign-in.tsx";

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

const keep = (token: string | undefined) =>
  token === undefined ? sessionStorage.removeItem(KEY) : sessionStorage.setItem(KEY, token);

function App() {
  const [{ token, ended }, setSession] = useState<Session>(kept);
  // Before it is seen that somebody is signed in, so that a reload finds it.
  useLayoutEffect(() => keep(token), [token]);
  const [client, session] = useMemo(() => {
    const end = () => setSession({ ended: true });
    return [connect(token, end), token === undefined ? undefined : { token, end }];
  }, [token]);
  return (
    <Provider value={client}>
      {session ? (
        <SessionContext value={session}>
          <Board onSignOut={() => setSession({})} />
        </SessionContext>
      ) : (
        <SignIn ended={ended ?? false} onToken={(fresh) => setSession({ token: fresh })} />
      )}
    </Provider>
  );
}

keepFocus();
createRoot(document.body).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
