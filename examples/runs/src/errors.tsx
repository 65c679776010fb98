import type { CombinedError } from "urql";

/** What this page says to the codes that its reader can do something about; to the others, what the gateway says. */
const WORDS: Record<string, string> = {
  BAD_CREDENTIALS: "User name or password is wrong.",
  NOT_FOUND: "There is no such record.",
  NO_ANSWER: "The gateway cannot be reached.",
};

/** The code of each error, such as NOT_FOUND; NO_ANSWER is a word of this page. */
export const codesOf = ({ networkError, graphQLErrors }: CombinedError) =>
  networkError ? ["NO_ANSWER"] : graphQLErrors.map(({ extensions }) => String(extensions["code"]));

/** What went wrong, once for each code. Beside `data` it is a note only: the rest of the answer is good. */
export function Trouble({ error, data }: { error: CombinedError | undefined; data?: unknown }) {
  const troubles = new Map(
    error && codesOf(error).map((code, at) => [code, error.graphQLErrors[at]?.message]),
  );
  return [...troubles].map(([code, message]) => (
    <p key={code} role="alert" className={data ? "note" : "trouble"}>
      {data ? "Not everything could be read. " : ""}
      {WORDS[code] ?? message} <code>{code}</code>
    </p>
  ));
}
