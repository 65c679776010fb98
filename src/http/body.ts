import type { IncomingMessage } from "node:http";

const JSON_TYPE = /^application\/(?:json|graphql\+json)\s*(?:;|$)/i;

/** Why a body is not taken, or that its caller left before its end. */
export type BodyFault = "not JSON" | "too long" | "too many" | "broken off";

export interface BodySettings {
  readonly maxBytes: number;
  /** How many bytes of bodies may be waiting for their ends, over all requests. */
  readonly maxWaitingBytes: number;
}

/**
 * Reads the bodies of requests. Rejects what is no JSON (a page of another site can send forms and text, but no JSON,
 * without being asked), what is too long, and what would be too much at a time.
 */
export function createBodyReader({ maxBytes, maxWaitingBytes }: BodySettings) {
  let waitingBytes = 0;
  /** By address: tokens are not proven yet, and anybody has many. */
  const byAddress = new Map<string, number>();

  const change = (address: string, bytes: number): void => {
    waitingBytes += bytes;
    const own = (byAddress.get(address) ?? 0) + bytes;
    if (own === 0) byAddress.delete(address);
    else byAddress.set(address, own);
  };

  /** One address may fill half of what there is, so that it cannot keep the others out. */
  const isTooMuch = (address: string): boolean =>
    waitingBytes > maxWaitingBytes || (byAddress.get(address) ?? 0) > maxWaitingBytes / 2;

  const readPieces = (request: IncomingMessage): Promise<readonly Buffer[] | BodyFault> =>
    new Promise((resolve) => {
      const pieces: Buffer[] = [];
      const address = request.socket.remoteAddress ?? "";
      let size = 0;
      const settle = (result: readonly Buffer[] | BodyFault) => {
        change(address, -size);
        size = 0;
        request.off("data", add);
        resolve(result);
      };
      const add = (piece: Buffer) => {
        size += piece.length;
        change(address, piece.length);
        pieces.push(piece);
        if (size > maxBytes) settle("too long");
        else if (isTooMuch(address)) settle("too many");
      };
      request.on("data", add);
      request.once("end", () => settle(pieces));
      request.once("close", () => settle("broken off"));
      request.on("error", () => {});
    });

  return async (request: IncomingMessage): Promise<Buffer | BodyFault> => {
    if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) return "not JSON";
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) return "too long";
    const pieces = await readPieces(request);
    return typeof pieces === "string" ? pieces : joined(pieces);
  };
}

const joined = (pieces: readonly Buffer[]): Buffer => {
  const [first, ...others] = pieces;
  return first && others.length === 0 ? first : Buffer.concat(pieces);
};
