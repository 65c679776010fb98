import { ForksPoolWorker, type PoolRunnerInitializer } from "vitest/node";

/** Runs tests in processes of another version of Node.js. In these processes, `process.execPath` refers to that version as well. */
export const nodePool = (executable: string): PoolRunnerInitializer => ({
  name: executable,
  createPoolWorker: (options) => new NodeWorker(options, executable),
});

class NodeWorker extends ForksPoolWorker {
  readonly #executable: string;

  constructor(options: ConstructorParameters<typeof ForksPoolWorker>[0], executable: string) {
    super(options);
    this.#executable = executable;
  }

  override start(): Promise<void> {
    const own = process.execPath;
    // Vitest's worker has no option for the executable, so `process.execPath` is replaced while it forks, which it does before its first
    // await.
    process.execPath = this.#executable;
    try {
      return super.start();
    } finally {
      process.execPath = own;
    }
  }
}
