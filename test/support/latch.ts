/** A promise that opens once: `opened` waits for it. */
export function latch() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => void (open = resolve));
  return { opened, open: () => open() };
}
