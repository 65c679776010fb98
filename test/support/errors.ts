import type { Answer } from "./gateway.ts";

/** The errors of a result: path, message and all extensions except the request id, which differs each time. */
export const errorsOf = ({ errors = [] }: Answer<unknown>) =>
  errors.map(({ path, message, extensions }) => {
    const { requestId: _, ...details } = extensions;
    return { at: path?.join("."), message, ...details };
  });

/** The errors, sorted by path, because parallel upstream requests fail in any order. */
export const sortedErrorsOf = (answer: Answer<unknown>) =>
  errorsOf(answer).toSorted((a, b) => `${a.at}`.localeCompare(`${b.at}`));

/** A result without the request id. */
export const outcomeOf = (answer: Answer<unknown>) => ({ data: answer.data, errors: errorsOf(answer) });

/** The result of `errorsOf` for one failed field. */
export const failure = (at: string, code: string, message: string, details: object = {}) => ({
  at,
  code,
  message,
  ...details,
});

/** Only the codes of the errors. */
export const codesOf = ({ errors = [] }: Pick<Answer<unknown>, "errors">) =>
  errors.map(({ extensions }) => extensions["code"]);
