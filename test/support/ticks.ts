/** The CPU time of some work, and of its longest tick of the event loop, in microseconds. */
export async function measureTicks(work: () => Promise<unknown>): Promise<{ all: number; longest: number }> {
  let isDone = false;
  let all = 0;
  let longest = 0;
  let before = process.cpuUsage();
  const tick = () => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    all += user + system;
    longest = Math.max(longest, user + system);
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isDone = true;
  tick();
  return { all, longest };
}

/** The share of the CPU time of some work that its longest tick takes: the minimum of several attempts. */
export async function longestShareOf(work: () => Promise<unknown>): Promise<number> {
  let least = 1;
  // A garbage collection or the compiler may take most of the time of some attempts.
  for (let attempt = 0; attempt < 8 && least > 0.4; attempt++) {
    const { all, longest } = await measureTicks(work);
    least = Math.min(least, longest / all);
  }
  return least;
}

/** The CPU time of some work in microseconds: the minimum of several attempts, because garbage collections occur in some. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 4; attempt++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}

/** The CPU time of `other` as a multiple of the CPU time of `one`. */
export async function timesOf(one: () => Promise<unknown>, other: () => Promise<unknown>): Promise<number> {
  // Runs both functions once, so that V8 has compiled them before they are measured.
  await one();
  await other();
  return (await cpuOf(other)) / (await cpuOf(one));
}
