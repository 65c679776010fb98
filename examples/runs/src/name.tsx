/** A dotted name whose first parts are quiet, because all names around it share them. */
export function Name({ of, within }: { of: string; within: string }) {
  const prefix = of.startsWith(`${within}.`) ? `${within}.` : "";
  return (
    <>
      {prefix && <span className="prefix">{prefix}</span>}
      {of.slice(prefix.length)}
    </>
  );
}
