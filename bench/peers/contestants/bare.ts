import Fastify from "fastify";

export { get } from "./service.ts";

/** Fastify as its manual shows it. */
export const app = Fastify({ logger: false });
