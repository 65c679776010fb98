import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";

/** Derived keys that are remembered: deriving takes some 20 µs. */
const MAX_REMEMBERED = 1_000;

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";

/**
 * What one token reads and writes in Redis: nobody without the token can tell what the names stand for, read a value or
 * write one that is believed. Nothing else is secret here, and processes derive the same keys.
 */
export class TokenKeys {
  readonly #nameKey: Buffer;
  readonly #valueKey: Buffer;

  constructor(token: string, installation: string) {
    const keys = Buffer.from(hkdfSync("sha256", token, "rungraph", installation, 2 * KEY_BYTES));
    this.#nameKey = keys.subarray(0, KEY_BYTES);
    this.#valueKey = keys.subarray(KEY_BYTES);
  }

  /** The name under which something of the token stands. */
  nameOf(what: string): string {
    return createHmac("sha256", this.#nameKey).update(what).digest("base64url");
  }

  /** Encrypts a text for one place: it cannot be read as that of another place. */
  seal(text: Buffer, place: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#valueKey, nonce).setAAD(Buffer.from(place));
    return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  }

  /** The text of a sealed one; null unless it was sealed with this token for this place. */
  open(sealed: Buffer, place: string): Buffer | null {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
    const decipher = createDecipheriv(CIPHER, this.#valueKey, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(place))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch {
      return null;
    }
  }
}

/** Returns a function that derives the keys of tokens. `installation`: what has to be equal for processes to share. */
export function tokenKeys(installation: unknown): (token: string) => TokenKeys {
  const info = hash("sha256", JSON.stringify(installation), "base64url");
  // By a hash: no token outlasts its requests in memory.
  const derived = new LRUCache<string, TokenKeys>({ max: MAX_REMEMBERED });
  return (token) => {
    const id = hash("sha256", token, "base64url");
    const keys = derived.get(id) ?? new TokenKeys(token, info);
    derived.set(id, keys);
    return keys;
  };
}
