import { useEffect, useEffectEvent, useRef } from "react";

/** Acts when a value is another than before; not when it is there for the first time. */
export function useOnChange(value: string | undefined, act: () => void) {
  const before = useRef(value);
  const onChange = useEffectEvent(act);
  useEffect(() => {
    if (before.current !== undefined && before.current !== value) onChange();
    before.current = value;
  }, [value]);
}
