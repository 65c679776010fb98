import { createYoga } from "graphql-yoga";
import type { StreamForm } from "./encoding.ts";

/** Encodes: the engine has run the operation. */
const yoga = createYoga<{ readonly result: object }>({
  landingPage: false,
  graphiql: false,
  cors: false,
  logging: false,
  maskedErrors: false,
  parserAndValidationCache: false,
  plugins: [
    {
      onRequestParse: ({ setRequestParser }) => setRequestParser(() => ({ query: "" })),
      // Safe: it is passed on to the encoder as it is.
      onParams: ({ setParamsHandler, context }) =>
        setParamsHandler(() => (context as unknown as { readonly result: object }).result as never),
    },
  ],
});

/** Encodes messages, or a single result, as a stream that can be cancelled while it waits for the next message. */
export async function encodeStream(result: object, accept: StreamForm["type"]) {
  const { body, headers } = await yoga.fetch("http://gateway/graphql", { headers: { accept } }, { result });
  if (!body) throw new TypeError("expected a body");
  return { body, contentType: headers.get("content-type") ?? accept };
}
