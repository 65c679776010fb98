import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { type CertificateExtension, generate } from "selfsigned";
import { fileWith } from "./build.ts";
import { openPort } from "./listen.ts";

/** A certificate and its key, in PEM format. */
interface Identity {
  readonly cert: string;
  readonly key: string;
}

type Extensions = readonly CertificateExtension[];

const MAY_ISSUE: Extensions = [{ name: "keyUsage", keyCertSign: true, critical: true }];

/** Creates a certificate authority that no client trusts by default. */
export async function makeAuthority(allowed = MAY_ISSUE) {
  const { cert, private: key } = await generate([{ name: "commonName", value: "Test authority" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [{ name: "basicConstraints", cA: true, critical: true }, ...allowed],
  });
  return {
    cert,
    /** Issues a certificate for a host or a client with this name, and its key. */
    issue: async (name: string, extensions: Extensions = []): Promise<Identity> => {
      const issued = await generate([{ name: "commonName", value: name }], {
        keyType: "ec",
        algorithm: "sha256",
        ca: { cert, key },
        extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: name }] }, ...extensions],
      });
      return { cert: issued.cert, key: issued.private };
    },
  };
}

/** Writes each string into its own file. Returns the paths of the files by the names of the strings. */
export function writeFiles<Name extends string>(texts: Readonly<Record<Name, string>>): Record<Name, string> {
  const paths = Object.entries<string>(texts).map(([name, text]) => [name, fileWith(text, name)]);
  // Safe: the entries are those of the strings.
  return Object.fromEntries(paths) as Record<Name, string>;
}

/** A request as a service received it. */
interface Arrived {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** The name in the client's certificate; null if the client sent no certificate of the service's authority. */
  readonly client: string | null;
}

/** The host name of the services below. No resolver knows it. */
export const SERVICE_HOST = "tracker.invalid";

const nameIn = (socket: TLSSocket) => String(socket.getPeerCertificate().subject.CN);

interface Tls extends Identity {
  /** The authority that must have issued the certificates of clients. */
  readonly clientAuthority?: string;
}

/** Starts a service with one user and one log, over HTTP or HTTPS. */
export async function startService(tls: Tls | null = null) {
  const seen: Arrived[] = [];
  const ofClients = tls?.clientAuthority ? { ca: tls.clientAuthority, requestCert: true } : {};
  const server = tls ? createTlsServer({ cert: tls.cert, key: tls.key, ...ofClients }) : createServer();
  server.on("request", ({ url: path = "", headers, socket }: IncomingMessage, response: ServerResponse) => {
    const isKnown = socket instanceof TLSSocket && socket.authorized;
    seen.push({ path, headers, client: isKnown ? nameIn(socket) : null });
    const isLog = path.endsWith("/logs");
    response.setHeader("content-type", isLog ? "text/plain" : "application/json");
    response.end(isLog ? "step 1\n" : JSON.stringify({ username: "ada", is_superuser: true }));
  });
  server.keepAliveTimeout = 0;
  const port = await openPort(server);
  const scheme = tls ? "https" : "http";
  return {
    port,
    /** The address with a host name that only the proxy below resolves, and the default port of the scheme. */
    url: `${scheme}://${SERVICE_HOST}`,
    localUrl: `${scheme}://localhost:${port}`,
    seen: (): readonly Arrived[] => seen,
  };
}

/** Starts a proxy. All its tunnels lead to this service, no matter which host and port are requested. */
export async function startProxy(
  { port: servicePort }: { readonly port: number },
  options: { readonly credentials?: string; readonly opened?: Promise<void> } = {},
) {
  const requests: { readonly line: string; readonly headers: IncomingMessage["headers"] }[] = [];
  const clients = new Set<Socket>();
  const server = createServer((request, response) => {
    requests.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    response.writeHead(501).end();
  });
  server.on("connect", async (request: IncomingMessage, client: Socket) => {
    const { method, url = "", headers } = request;
    requests.push({ line: `${method} ${url}`, headers });
    clients.add(client.on("close", () => clients.delete(client)));
    const expected = options.credentials;
    if (expected && headers["proxy-authorization"] !== `Basic ${Buffer.from(expected).toString("base64")}`) {
      client.write("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
      return void client.resume().on("end", () => client.destroy());
    }
    await options.opened;
    const service = connect(servicePort, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      service.pipe(client).pipe(service);
    });
    service.on("error", () => {}).on("close", () => client.destroy());
    client.on("close", () => service.destroy());
  });
  const port = await openPort(server);
  return {
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    lines: () => requests.map(({ line }) => line),
    connections: () => clients.size,
  };
}
