/** `declarations` is JSON of any shape. If it is an object, its properties are the parameters. */
export const parametersOf = (declarations: unknown) => Object(declarations) as Record<string, unknown>;
