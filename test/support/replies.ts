import type { FakeResponse } from "./fake.ts";

/** An error page whose content must not reach callers, because it names a host and a path. */
export const PAGE = "<!DOCTYPE html><html><body>canary of /srv/tracking at db.internal</body></html>";

export const json = (status: number, body: unknown): FakeResponse => ({ status, json: body });

/** `{"detail": "Not found."}`: the format of most errors of the service. */
export const detail = (status: number, text: string): FakeResponse => json(status, { detail: text });

export const html = (status: number, text = PAGE): FakeResponse => ({
  status,
  text,
  headers: { "content-type": "text/html; charset=utf-8" },
});
