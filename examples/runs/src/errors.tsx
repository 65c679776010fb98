import type { CombinedError } from "urql";

/** Messages for the codes that the reader can act on. For other codes the page shows the message of the gateway. */
const WORDS: Record<string, string> = {
  BAD_USER_INPUT: "The address of this page or one of the fields is not valid.",
  BAD_CREDENTIALS: "User name or password is wrong.",
  CAPABILITY_UNAVAILABLE: "The server does not offer this.",
  FORBIDDEN: "You are not allowed to do this.",
  NOT_FOUND: "There is no such record.",
  NO_ANSWER: "The gateway cannot be reached.",
};

/** Codes of errors that a retry cannot fix. */
const LASTING = new Set([
  "BAD_CREDENTIALS",
  "BAD_USER_INPUT",
  "CAPABILITY_UNAVAILABLE",
  "FORBIDDEN",
  "NOT_FOUND",
  "UNAUTHENTICATED",
]);

/** The code of each error, such as NOT_FOUND. NO_ANSWER is this page's own code for network errors. */
export const codesOf = (error: CombinedError | undefined) =>
  error?.networkError
    ? ["NO_ANSWER"]
    : (error?.graphQLErrors ?? []).map(({ extensions }) => String(extensions["code"]));

/** Whether the same request can succeed later. */
export const isPassing = (error: CombinedError) => !codesOf(error).every((code) => LASTING.has(code));

interface TroubleProps {
  readonly error: CombinedError | undefined;
  /** The data in the response. With data, the errors are shown as a note, because the rest of the response is valid. */
  readonly data?: unknown;
  readonly retry?: () => void;
}

/** Shows the errors, one per code, and a button to try again if a retry can help. */
export function Trouble({ error, data, retry }: TroubleProps) {
  if (!error) return null;
  const troubles = new Map(codesOf(error).map((code, at) => [code, error.graphQLErrors[at]]));
  return (
    <div role="alert" className={data ? "note" : "trouble"}>
      {[...troubles].map(([code, told]) => (
        <div key={code}>
          {data ? "Some data could not be loaded. " : ""}
          {WORDS[code] ?? told?.message} <code>{code}</code>
          {told?.extensions["outcome"] === "unknown" &&
            " It may have taken effect. Check before you repeat it."}
          {code === "BAD_USER_INPUT" && <p>{told?.message}</p>}
        </div>
      ))}
      {retry && isPassing(error) && <button onClick={retry}>Try again</button>}
    </div>
  );
}
