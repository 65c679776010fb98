import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { cacheExchange, type CombinedError, createClient, fetchExchange, mapExchange, Provider } from "urql";
import { Board } from "./board.tsx";
import { codesOf } from "./errors.tsx";
import { SignIn } from "./sign-in.tsx";

/** A client for one session: with its token goes the cache of what the token let it read. */
function connect(token: string | undefined, onEnd: () => void) {
  const onError = (error: CombinedError) => {
    if (codesOf(error).includes("UNAUTHENTICATED")) onEnd();
  };
  return createClient({
    url: "/graphql",
    preferGetMethod: false, // no queries in the access logs of proxies
    fetchOptions: { headers: token ? { authorization: `token ${token}` } : {} },
    exchanges: [mapExchange({ onError }), cacheExchange, fetchExchange],
  });
}

function App() {
  // The token lives in memory only: nothing of it is left when the page is closed.
  const [{ token, ended }, setSession] = useState<{ token?: string; ended?: boolean }>({});
  const client = useMemo(() => connect(token, () => setSession({ ended: true })), [token]);
  return (
    <Provider value={client}>
      {token ? (
        <Board onSignOut={() => setSession({})} />
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
