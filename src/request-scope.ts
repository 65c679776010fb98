/** Who asks, as far as the service and the log are told. */
export interface Identity {
  /** What follows `Authorization: token`; null when there is none. */
  readonly token: string | null;
  /** Stands for the token, or for the address of a caller without one, wherever callers are told apart. */
  readonly callerKey: string;
  readonly requestId: string;
  /** The caller's own trace context; null when there is none that is valid. */
  readonly traceparent: string | null;
}

/** Why a scope has ended: its caller left, its time was over, or everything was answered. */
type EndOfScope = "left" | "deadline" | "done";

/** One request of a caller: who asks, until when, and what ends with it. */
export interface RequestScope extends Identity {
  /** When its time is over, in milliseconds since 1970; infinite for downloads. */
  readonly deadline: number;
  /** Why it has ended; null while it runs. */
  readonly ended: () => EndOfScope | null;
  /** Calls back once when it ends, or at once when it has ended. The function that is given takes the callback back. */
  readonly onEnd: (callback: () => void) => () => void;
  readonly end: (why: EndOfScope) => void;
}

/** Opens a scope that ends by itself when its time is over. Own code: an `AbortSignal` for each upstream request costs more than the request. */
export function openScope(identity: Identity, timeoutMs: number): RequestScope {
  const callbacks = new Set<() => void>();
  let ended: EndOfScope | null = null;
  const isBounded = Number.isFinite(timeoutMs);
  const timer = isBounded ? setTimeout(() => end("deadline"), timeoutMs) : undefined;

  const end = (why: EndOfScope): void => {
    if (ended) return;
    ended = why;
    clearTimeout(timer);
    for (const callback of callbacks) callback();
    callbacks.clear();
  };

  return {
    ...identity,
    deadline: isBounded ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY,
    ended: () => ended,
    onEnd: (callback) => {
      if (ended) callback();
      else callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
    end,
  };
}

/** Resolves after a pause, or at once when the scope ends. */
export const pause = (ms: number, scope: RequestScope): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      forget();
      resolve();
    }, ms);
    const forget = scope.onEnd(() => {
      clearTimeout(timer);
      resolve();
    });
  });
