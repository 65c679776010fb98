// @ts-check
/* Merges the payloads of incremental delivery: @defer and @stream. */

/**
 * @typedef {(string | number)[]} Path
 * @typedef {{ id: string, errors?: ResultError[] }} Completed
 * @typedef {{ id: string, data?: object, items?: unknown[], errors?: ResultError[] }} Increment
 * @typedef {Result & { pending?: { id: string, path: Path }[], incremental?: Increment[], completed?: Completed[] }} Payload
 */

/** @param {any} value @returns {value is Record<string, any>} */
const isObject = (value) => typeof value === "object" && value !== null;

/** Merges fields into an object, recursively for objects and items in both. @param {Record<string, any>} target @param {object} fields */
function addFields(target, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const present = Object.hasOwn(target, name) ? target[name] : undefined;
    if (isObject(present) && isObject(value)) addFields(present, value);
    // The property is defined, not assigned, because a field can be called `__proto__`.
    else Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true });
  }
}

/**
 * Yields the merged result after each payload. The result contains `hasNext` until the last payload.
 *
 * @param {AsyncIterable<Payload>} payloads @returns {AsyncGenerator<Result>}
 */
async function* answersOf(payloads) {
  /** The paths of pending parts by their ids. @type {Map<string, Path>} */
  const pendingPaths = new Map();
  let data = /** @type {any} */ (undefined);
  /** @type {ResultError[]} */
  const errors = [];
  let extensions = /** @type {Result["extensions"]} */ (undefined);
  const answer = (/** @type {boolean} */ hasNext) => ({
    ...(errors.length > 0 && { errors }),
    data,
    ...(extensions && { extensions }),
    ...(hasNext && { hasNext }),
  });

  /** @param {Increment} increment */
  const add = ({ id, data: fields, items, errors: failures = [] }) => {
    const target = (pendingPaths.get(id) ?? []).reduce((above, key) => above?.[key], data);
    if (Array.isArray(target) && items) target.push(...items);
    if (isObject(target) && fields) addFields(target, fields);
    errors.push(...failures);
  };

  let isComplete = false;
  try {
    for await (const payload of payloads) {
      if (payload.data !== undefined) data = payload.data;
      extensions = payload.extensions ?? extensions;
      errors.push(...(payload.errors ?? []));
      for (const { id, path } of payload.pending ?? []) pendingPaths.set(id, path);
      for (const increment of payload.incremental ?? []) add(increment);
      for (const { errors: failures = [] } of payload.completed ?? []) errors.push(...failures);
      isComplete = payload.hasNext !== true;
      yield answer(!isComplete);
    }
    if (!isComplete) errors.push({ message: "The gateway ended the answer before all of its pieces came." });
  } catch (error) {
    errors.push({ message: messageOf(error) });
  }
  if (!isComplete) yield answer(false);
}

// sending.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { answersOf });
