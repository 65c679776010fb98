export const DONE = { done: true, value: undefined } as const;

export async function* singleValue(value: object): AsyncGenerator<object, undefined> {
  yield value;
}

/** Converts the values of an iterator. Unlike a generator, it can be returned while `next` is pending. Calls `onEnd` once at the end. */
export function mapAsyncIterator<From>(
  { next: nextOf, return: endOf }: Pick<AsyncIterator<From>, "next" | "return">,
  convert: (message: From) => object,
  onEnd = () => {},
): AsyncIterableIterator<object> {
  let isOver = false;
  const end = (): void => {
    if (!isOver) onEnd();
    isOver = true;
  };
  const iterator: AsyncIterableIterator<object> = {
    next: async () => {
      const next = await nextOf();
      if (!next.done) return { done: false, value: convert(next.value) };
      end();
      return DONE;
    },
    return: async () => {
      end();
      await endOf?.();
      return DONE;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
