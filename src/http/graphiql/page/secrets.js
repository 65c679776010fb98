// @ts-check
/* Removes the values of operations that take a secret, such as a password, from everything that the page stores or shares. */

/** Names of fields with an argument that is a secret. @type {{ secretFields: string[] }} */
const { secretFields } = JSON.parse(document.querySelector("#settings")?.textContent ?? "");

/** The words of a document, without its comments. @param {string} query */
const wordsOf = (query) => new Set(query.replaceAll(/#.*/g, "").match(/\w+/g));

/** @param {string} query */
function takesSecret(query) {
  const words = wordsOf(query);
  return secretFields.some((name) => words.has(name));
}

/** Matches strings, even strings that are not closed yet. */
const QUOTED = /"""(?:[^"\\]|\\[^]|"(?!""))*(?:""")?|"(?:[^"\\\n]|\\.)*"?/g;

/** Replaces the values of a document's arguments, quoted or not, with empty strings. @param {string} query */
const withoutLiterals = (query) =>
  query
    .replaceAll(QUOTED, '""')
    // Keeps the definitions of variables, whose names begin with a $.
    .replaceAll(/\([^()]*\)/g, (all) =>
      all.replaceAll(/(\$\w+\s*:)|:(\s*)[^\s,:$"(){}[\]]+/g, (_, defined, space) => defined ?? `:${space}""`),
    );

/** Replaces the values of variables with empty strings. Returns no variables if they are not JSON. @param {string} variables */
function withoutValues(variables) {
  try {
    const blank = JSON.parse(variables, (_, value) => (typeof value === "object" && value ? value : ""));
    return JSON.stringify(blank, null, 2);
  } catch {
    return "";
  }
}

/**
 * Removes the values from an operation that takes a secret. Returns any other operation unchanged.
 *
 * @template {{ query: string | null, variables?: string | null }} Operation
 * @param {Operation} operation @returns {Operation}
 */
function withoutSecrets(operation) {
  const { query, variables } = operation;
  if (!query || !takesSecret(query)) return operation;
  return {
    ...operation,
    query: withoutLiterals(query),
    ...(variables && { variables: withoutValues(variables) }),
  };
}

// Later scripts use these globals.
Object.assign(globalThis, { takesSecret, withoutSecrets, wordsOf });
