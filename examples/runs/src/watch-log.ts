import { useState } from "react";
import { graphql } from "./generated/index.ts";
import { useLive } from "./live.ts";

const watchLogSubscription = graphql(`
  subscription WatchLog($id: ID!, $after: String) {
    runLogAppended(id: $id, after: $after) {
      text
      endCursor
      isRestarted
    }
  }
`);

/** How much of a log is kept, in characters: its end. */
const MAX_LENGTH = 500_000;

interface Watched {
  readonly id: string;
  /** The end of the log as it was read, and the cursor behind it. Empty and null before there is a log. */
  readonly text: string;
  readonly endCursor: string | null;
  readonly isFinished: boolean;
}

/** The text with what is written meanwhile: each line once, also when the connection breaks in between. */
export function useLogText({ id, isFinished, ...read }: Watched): string {
  const [{ text, endCursor }, setLog] = useState(read);
  useLive({
    query: watchLogSubscription,
    of: id,
    isOver: isFinished,
    variables: () => ({ id, after: endCursor }),
    onEvent: ({ runLogAppended: chunk }) =>
      setLog((log) => ({
        text: endOf((chunk.isRestarted ? "" : log.text) + chunk.text),
        endCursor: chunk.endCursor,
      })),
  });
  return text;
}

/** The last lines of a text that is too long. */
function endOf(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return text.slice(text.indexOf("\n", text.length - MAX_LENGTH) + 1);
}
