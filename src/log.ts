type Write = (fields: object, message: string) => void;

/** Takes log lines: a logger of pino, such as `app.log` of Fastify, or anything with these functions. */
export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}
