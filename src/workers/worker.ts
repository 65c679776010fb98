import type { Registry } from "prom-client";
import { CannotListen, type Serving } from "../serve.ts";
import type { ToPrimary, ToWorker, Upstream } from "./messages.ts";

type Serve = (upstream: Upstream, metricsOf: (own: Registry) => () => Promise<string>) => Promise<Serving>;

/** Runs this process as a worker: serves once the primary process has sent the upstream, and exits when told to. */
export function runWorker(serve: Serve): void {
  const wanted = new Map<number, (text: string) => void>();
  let serving: Promise<Serving> | null = null;
  let own: Registry | null = null;
  let isDraining = false;
  let lastId = 0;

  /** The metrics of all workers, which the primary process collects. */
  const metricsOf = (registry: Registry) => {
    own = registry;
    return () =>
      new Promise<string>((resolve) => {
        lastId++;
        wanted.set(lastId, resolve);
        send({ type: "metrics wanted", id: lastId });
      });
  };

  const drain = async (): Promise<void> => {
    if (isDraining) return;
    isDraining = true;
    await (await serving)?.drain();
    process.exit(0);
  };

  const start = (upstream: Upstream): void => {
    serving = serve(upstream, metricsOf);
    serving.catch((error: unknown) => {
      if (!(error instanceof CannotListen)) throw error;
      send({ type: "cannot listen", code: error.message }, () => process.exit(1));
    });
  };

  const report = async (id: number): Promise<void> =>
    send({ type: "report", id, metrics: (await own?.getMetricsAsJSON()) ?? [] });

  process.on("message", (message: ToWorker) => {
    if (message.type === "start") start(message.upstream);
    if (message.type === "drain") void drain();
    if (message.type === "reload")
      void serving?.then(
        ({ reload }) => reload(),
        () => {},
      );
    if (message.type === "ping") send({ type: "pong" });
    if (message.type === "report") void report(message.id);
    if (message.type === "metrics") {
      wanted.get(message.id)?.(message.text);
      wanted.delete(message.id);
    }
  });
  process.on("SIGTERM", () => void drain());
  // A terminal sends it to the whole process group: the primary process decides.
  process.on("SIGINT", () => {});
  send({ type: "awake" });
}

/** Sends a message and calls `onSent`. */
const send = (message: ToPrimary, onSent = () => {}): void =>
  void process.send?.(message, undefined, undefined, onSent);
