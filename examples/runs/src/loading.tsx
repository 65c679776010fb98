/** Holds the place of what is being read. */
export function Loading({ what, lines = 3 }: { what: string; lines?: number }) {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">Loading {what}…</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} />
      ))}
    </div>
  );
}
