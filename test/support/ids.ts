/** A string encoded as in ids and cursors, which are opaque to callers. */
export const opaque = (text: string): string => Buffer.from(text).toString("base64url");

/** The global id of an address, such as `Experiment:ada/mnist/42`. */
export const globalId = (address: string): string => opaque(address);
