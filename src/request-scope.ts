/** The identity of a request's caller. */
export interface Identity {
  /** The token from `Authorization`; null without one. */
  readonly token: string | null;
  /** Hash of the token, or of the address of a caller without one. Limits are counted by it. */
  readonly callerKey: string;
  readonly requestId: string;
  /** The caller's trace context; null when it is missing or invalid. */
  readonly traceparent: string | null;
}

/** Why a scope has ended: the caller disconnected, the deadline passed, or the request is complete. */
type EndReason = "left" | "deadline" | "done";

/** The lifetime of one request: its caller, its deadline, and callbacks for its end. */
export interface RequestScope extends Identity {
  /** Deadline in milliseconds since 1970; infinite for downloads. */
  readonly deadline: number;
  /** Why the scope has ended; null while it is open. */
  readonly ended: () => EndReason | null;
  /** Calls back once when the scope ends, immediately if it has ended. Returns a function that removes the callback. */
  readonly onEnd: (callback: () => void) => () => void;
  readonly end: (reason: EndReason) => void;
}

/**
 * Opens a scope that ends at its deadline. Own code: an `AbortSignal` for each upstream request costs more than the
 * request itself.
 */
export function openScope(identity: Identity, timeoutMs: number): RequestScope {
  const callbacks = new Set<() => void>();
  let ended: EndReason | null = null;
  const isBounded = Number.isFinite(timeoutMs);
  const timer = isBounded ? setTimeout(() => end("deadline"), timeoutMs) : undefined;

  const end = (reason: EndReason): void => {
    if (ended) return;
    ended = reason;
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

/** Resolves after a pause, or as soon as the scope ends. */
export const pause = (ms: number, scope: RequestScope): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      removeCallback();
      resolve();
    }, ms);
    const removeCallback = scope.onEnd(() => {
      clearTimeout(timer);
      resolve();
    });
  });
