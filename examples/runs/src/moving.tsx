import { useState } from "react";

/** A value that lights up when it changes. */
export function Moving({ value }: { value: string }) {
  const [first] = useState(value);
  // With another key it is another element, and its animation starts again.
  return (
    <span key={value} className={value === first ? undefined : "moved"}>
      {value}
    </span>
  );
}
