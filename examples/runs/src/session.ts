import { createContext, useContext } from "react";

/** The session, for requests that are not GraphQL: downloads. */
interface Session {
  readonly token: string;
  /** Leads back to signing in. */
  readonly end: () => void;
}

export const SessionContext = createContext<Session>({ token: "", end: () => {} });

export const useSession = () => useContext(SessionContext);
