// @ts-check
/* Puts an answer together that comes in pieces: by @defer and @stream. */

/**
 * @typedef {(string | number)[]} Path
 * @typedef {{ id: string, errors?: ResultError[] }} Completed
 * @typedef {{ id: string, data?: object, items?: unknown[], errors?: ResultError[] }} Increment
 * @typedef {Result & { pending?: { id: string, path: Path }[], incremental?: Increment[], completed?: Completed[] }} Piece
 */

/** @param {any} value @returns {value is Record<string, any>} */
const isObject = (value) => typeof value === "object" && value !== null;

/** Adds fields to an object, also those of objects and of items that both have. @param {Record<string, any>} target @param {object} fields */
function addFields(target, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const present = Object.hasOwn(target, name) ? target[name] : undefined;
    if (isObject(present) && isObject(value)) addFields(present, value);
    // Defined, because a field can be called `__proto__`.
    else Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true });
  }
}

/**
 * The answer after each piece. `hasNext` stays in it as long as some are missing.
 *
 * @param {AsyncIterable<Piece>} pieces @returns {AsyncGenerator<Result>}
 */
async function* answersOf(pieces) {
  /** Where the parts belong that are still to come. @type {Map<string, Path>} */
  const places = new Map();
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
  const add = ({ id, data: fields, items, errors: faults = [] }) => {
    const place = (places.get(id) ?? []).reduce((value, key) => value?.[key], data);
    if (Array.isArray(place) && items) place.push(...items);
    if (isObject(place) && fields) addFields(place, fields);
    errors.push(...faults);
  };

  let isComplete = false;
  try {
    for await (const piece of pieces) {
      if (piece.data !== undefined) data = piece.data;
      extensions = piece.extensions ?? extensions;
      errors.push(...(piece.errors ?? []));
      for (const { id, path } of piece.pending ?? []) places.set(id, path);
      for (const increment of piece.incremental ?? []) add(increment);
      for (const { errors: faults = [] } of piece.completed ?? []) errors.push(...faults);
      isComplete = piece.hasNext !== true;
      yield answer(!isComplete);
    }
    if (!isComplete) errors.push({ message: "The gateway ended the answer before all of its pieces came." });
  } catch (fault) {
    errors.push({ message: messageOf(fault) });
  }
  if (!isComplete) yield answer(false);
}

// For sending.js: scripts share what is global.
Object.assign(globalThis, { answersOf });
