/** The CPU time of some work, and of its longest part that was done in one turn of the event loop, in microseconds. */
export async function turnsOf(work: () => Promise<unknown>): Promise<{ all: number; longest: number }> {
  let isDone = false;
  let all = 0;
  let longest = 0;
  let before = process.cpuUsage();
  const turn = () => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    all += user + system;
    longest = Math.max(longest, user + system);
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  turn();
  return { all, longest };
}
