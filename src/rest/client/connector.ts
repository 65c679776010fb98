import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { buildConnector } from "undici";

/** Opens connections to the service, TLS included. They arrive ready for a request. */
export type Connector = buildConnector.connector;

export interface ConnectorSettings {
  /** How long a connection may take to open, in milliseconds; by a proxy as long again for the way through it. */
  readonly connectTimeoutMs: number;
  /** An HTTP proxy that opens tunnels by CONNECT; null when the service is reached directly. */
  readonly proxy: URL | null;
  /** PEM: authorities to trust in place of the usual ones, and the gateway's own certificate with its key. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

/**
 * Own code where undici has a `ProxyAgent`: whole responses go by undici and streams by `node:http`, and both must take
 * the same way, with the same certificates.
 */
export function createConnector({ connectTimeoutMs, proxy, tls }: ConnectorSettings): Connector {
  const connect = buildConnector({ ...tls, timeout: connectTimeoutMs });
  if (!proxy) return connect;
  return (target, callback) =>
    openTunnel(proxy, authorityOf(target), connectTimeoutMs, (fault, socket) => {
      if (fault) callback(fault, null);
      else if (target.protocol === "https:") connect({ ...target, httpSocket: socket }, callback);
      else callback(null, socket);
    });
}

/** The way to the service as a connector takes it. */
export const targetOf = ({ host, hostname, port, protocol }: URL): buildConnector.Options => ({
  host,
  hostname: withoutBrackets(hostname),
  port,
  protocol,
});

/** Why a proxy opened no tunnel: `PROXY_407`, or the code of the connection to it, as in `PROXY_ECONNREFUSED`. */
class ProxyError extends Error {
  readonly code: string;

  constructor(reason: string, cause?: unknown) {
    super("the proxy opened no tunnel", { cause });
    this.code = `PROXY_${reason}`;
  }
}

type OnTunnel = (...result: [fault: Error, socket: null] | [fault: null, socket: Socket]) => void;

function openTunnel(proxy: URL, authority: string, timeoutMs: number, onTunnel: OnTunnel): void {
  const request = httpRequest({
    host: withoutBrackets(proxy.hostname),
    port: proxy.port || DEFAULT_PORTS["http:"],
    method: "CONNECT",
    path: authority,
    headers: { host: authority, ...credentialsOf(proxy) },
    agent: false,
  });
  const timer = setTimeout(() => request.destroy(new ProxyError("TIMEOUT")), timeoutMs);
  request.once("connect", ({ statusCode = 0 }, socket, head) => {
    clearTimeout(timer);
    // The connection above it tells of its end.
    socket.on("error", () => {});
    if (statusCode < 200 || statusCode >= 300) {
      socket.destroy();
      return onTunnel(new ProxyError(`${statusCode}`), null);
    }
    if (head.length > 0) socket.unshift(head);
    onTunnel(null, socket);
  });
  request.once("error", (fault) => {
    clearTimeout(timer);
    const code = "code" in fault ? `${fault.code}` : fault.name;
    onTunnel(fault instanceof ProxyError ? fault : new ProxyError(code, fault), null);
  });
  request.end();
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/** Node and URLs disagree about brackets around an IPv6 address. */
const withoutBrackets = (hostname: string) => hostname.replaceAll(/[[\]]/g, "");

const authorityOf = ({ hostname, port, protocol }: buildConnector.Options): string =>
  `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port || DEFAULT_PORTS[protocol]}`;

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}
