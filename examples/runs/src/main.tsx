import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { Board } from "./board.tsx";
import { connect } from "./client.ts";
import { SessionContext } from "./session.ts";
import { SignIn } from "./sign-in.tsx";

function App() {
  // The token lives in memory only: nothing of it is left when the page is closed.
  const [{ token, ended }, setSession] = useState<{ token?: string; ended?: boolean }>({});
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

createRoot(document.body).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
