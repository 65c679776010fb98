import Fastify from "fastify";

export { get } from "./service.ts";

/** As the manual shows it. */
export const app = Fastify({ logger: false });
