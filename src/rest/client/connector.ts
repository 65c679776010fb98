import { request as httpRequest } from "node:http";
import buildConnector from "undici/lib/core/connect.js";

export type Connector = buildConnector.connector;

export interface ConnectorSettings {
  /** Connect timeout in milliseconds. With a proxy it applies to the tunnel and again to the TLS handshake in it. */
  readonly connectTimeoutMs: number;
  /** An HTTP proxy that supports CONNECT; null for direct connections. */
  readonly proxy: URL | null;
  /** PEM: certificate authorities that replace the default ones, and the client certificate with its key. */
  readonly tls: Readonly<Record<"ca" | "cert" | "key", string | undefined>>;
}

/** Creates the connector that whole responses (undici) and streams (`node:http`) share. undici's `ProxyAgent` would serve only undici. */
export function createConnector({ connectTimeoutMs, proxy, tls }: ConnectorSettings): Connector {
  const given = Object.fromEntries(Object.entries(tls).filter(([, pem]) => pem !== undefined));
  const connect = buildConnector({ ...given, timeout: connectTimeoutMs });
  if (!proxy) return connect;
  return (target, callback) =>
    openTunnel(proxy, authorityOf(target), connectTimeoutMs, (error, socket) => {
      if (error) callback(error, null);
      else if (target.protocol === "https:") connect({ ...target, httpSocket: socket }, callback);
      else callback(null, socket);
    });
}

export const targetOf = ({ host, hostname, port, protocol }: URL): buildConnector.Options => ({
  host,
  hostname: withoutBrackets(hostname),
  port,
  protocol,
});

/** The error of a proxy that opened no tunnel. `code`: `PROXY_` with the HTTP status or the connection error: `PROXY_ECONNREFUSED`. */
class ProxyError extends Error {
  readonly code: string;

  constructor(reason: string, cause?: unknown) {
    super("the proxy opened no tunnel", { cause });
    this.code = `PROXY_${reason}`;
  }
}

function openTunnel(
  proxy: URL,
  authority: string,
  timeoutMs: number,
  onTunnel: buildConnector.Callback,
): void {
  const request = httpRequest({
    host: withoutBrackets(proxy.hostname),
    port: proxy.port || 80,
    method: "CONNECT",
    path: authority,
    headers: { host: authority, ...credentialsOf(proxy) },
    agent: false,
  });
  const timer = setTimeout(() => request.destroy(new ProxyError("TIMEOUT")), timeoutMs);
  request.once("connect", ({ statusCode = 0 }, socket) => {
    clearTimeout(timer);
    // The connection inside the tunnel reports the errors of this socket.
    socket.on("error", () => {});
    if (statusCode < 200 || statusCode >= 300) {
      socket.destroy();
      return onTunnel(new ProxyError(`${statusCode}`), null);
    }
    onTunnel(null, socket);
  });
  request.once("error", (error) => {
    clearTimeout(timer);
    const code = "code" in error ? `${error.code}` : error.name;
    onTunnel(error instanceof ProxyError ? error : new ProxyError(code, error), null);
  });
  request.end();
}

/** Removes the brackets of an IPv6 address: URLs have them, Node.js expects none. */
const withoutBrackets = (hostname: string) => hostname.replaceAll(/[[\]]/g, "");

const authorityOf = ({ hostname, port, protocol }: buildConnector.Options): string =>
  `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port || (protocol === "https:" ? 443 : 80)}`;

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}
