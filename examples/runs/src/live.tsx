import { useEffect, useEffectEvent, useState, useSyncExternalStore } from "react";
import {
  type AnyVariables,
  type CombinedError,
  type TypedDocumentNode,
  useClient,
  useQuery,
  type UseQueryArgs,
} from "urql";
import { isPassing } from "./errors.tsx";

/** Repeats the failed reads that can succeed later. */
const failed = new Set<() => void>();

/** Repeats a failed read as soon as a stream is back. */
export function useRetry(error: CombinedError | undefined, read: () => void) {
  const again = useEffectEvent(read);
  const canPass = error !== undefined && isPassing(error);
  useEffect(() => {
    if (!canPass) return;
    const act = () => again();
    failed.add(act);
    return () => void failed.delete(act);
  }, [canPass]);
}

/** Runs a query. It keeps the last data if a later attempt fails, and repeats a failed attempt when a stream is back. */
export function useRead<Data, Variables extends AnyVariables>(given: UseQueryArgs<Variables, Data>) {
  const [{ data: read, error, fetching }, execute] = useQuery<Data, Variables>(given);
  const [kept, keep] = useState(read);
  if (read && read !== kept) keep(read);
  const reload = () => execute({ requestPolicy: "network-only" });
  useRetry(error, reload);
  return { data: read ?? kept, error: fetching ? undefined : error, fetching, reload };
}

/** Pauses before a stream is opened again, in milliseconds. They double until an event arrives. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** `failed`: an error that a retry cannot fix. */
type LiveState = "connecting" | "live" | "waiting" | "ended" | "failed";

interface Subscription<Data, Variables extends AnyVariables> {
  readonly query: TypedDocumentNode<Data, Variables>;
  /** Variables of the next attempt. A cursor in them continues after the last event. */
  readonly variables: () => Variables;
  readonly onEvent: (data: Data) => void;
  /** Key of the subscription. A new key starts a new subscription. */
  readonly of: string;
  /** Whether to leave the stream closed once it has ended, because nothing more will arrive. */
  readonly isOver: boolean;
}

const isVisible = () => document.visibilityState === "visible";

function onVisibility(act: () => void) {
  document.addEventListener("visibilitychange", act);
  return () => document.removeEventListener("visibilitychange", act);
}

/** Follows a subscription while the page is visible: over HTTP/1.1, all tabs of a browser share six connections per server. */
export function useLive<Data, Variables extends AnyVariables>({
  query,
  of,
  isOver,
  ...given
}: Subscription<Data, Variables>): LiveState {
  const client = useClient();
  const [state, setState] = useState<LiveState>("connecting");
  const isShown = useSyncExternalStore(onVisibility, isVisible);
  const variables = useEffectEvent(given.variables);
  const onEvent = useEffectEvent(given.onEvent);
  const isLast = useEffectEvent(() => isOver);

  useEffect(() => {
    if (!isShown) return;
    let pause = FIRST_PAUSE_MS;
    let isBack = false;
    let stop = () => {};

    const fail = (error: CombinedError) => (isPassing(error) ? reopen("waiting") : setState("failed"));

    // An ended stream is opened again, because the gateway also ends streams when it restarts.
    const reopen = (next: LiveState) => {
      stop();
      if (isLast()) return setState("ended");
      setState(next);
      isBack = true;
      const timer = setTimeout(open, pause);
      stop = () => clearTimeout(timer);
      pause = Math.min(2 * pause, MAX_PAUSE_MS);
    };

    const open = () => {
      const { unsubscribe } = client
        .subscription(query, variables())
        .subscribe(({ data, error, hasNext }) => {
          if (error) return fail(error);
          // urql reports the end of a stream by repeating the last event.
          if (!hasNext || !data) return reopen("waiting");
          pause = FIRST_PAUSE_MS;
          setState("live");
          onEvent(data);
          if (isBack) for (const again of failed) again();
          isBack = false;
        });
      stop = unsubscribe;
    };

    setState("connecting");
    open();
    return () => stop();
  }, [client, query, of, isShown]);

  return state;
}

const WORDS: Record<LiveState, string> = {
  connecting: "connecting…",
  live: "live",
  waiting: "reconnecting…",
  ended: "",
  failed: "not live",
};

/** Shows whether the page receives live updates. */
export function LiveBadge({ state }: { state: LiveState }) {
  return (
    <span className="badge" role="status" data-live={state}>
      {WORDS[state]}
    </span>
  );
}
