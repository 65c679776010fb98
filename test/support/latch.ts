/** A latch: the promise `opened` resolves when `open` is called. */
export function latch() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => void (open = resolve));
  return { opened, open: () => open() };
}
