import { ForksPoolWorker, type PoolRunnerInitializer } from "vitest/node";

/** Runs tests in processes of another version of Node.js, which `process.execPath` then also refers to. */
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
    // Vitest's worker accepts no other executable, and forks before its first await.
    process.execPath = this.#executable;
    try {
      return super.start();
    } finally {
      process.execPath = own;
    }
  }
}
