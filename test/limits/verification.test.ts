import { expect, onTestFinished, test, vi } from "vitest";
import { AT_ONCE, startFixture, type Fixture } from "../support/admission-fixture.ts";
import { ENTER } from "../support/admission.ts";

/** An address may have two downloads of unverified callers. */
const DOWNLOADS = { MAX_DOWNLOADS: "8", MAX_DOWNLOADS_PER_TOKEN: "2" };

/** Uses up the permits that unverified callers share at this address. */
async function fillAddress(fixture: Fixture) {
  for (const token of ["invented1", "invented2"])
    expect((await ENTER.download(fixture, { token }, "active")).outcome).toBe("in");
}

test("a token that the service rejects counts as unverified again", async () => {
  const fixture = await startFixture({ env: DOWNLOADS });
  await fixture.accept("ada");
  const download = async (token: string) => (await ENTER.download(fixture, { token }, "active")).outcome;
  expect(await download("ada")).toBe("in");
  fixture.revoke("ada");
  for (let times = 0; times < 3; times++) await fixture.accept("ada");
  expect([await download("invented1"), await download("ada")]).toEqual(["in", 429]);
});

test("a token that is not accepted for ten minutes counts as unverified", async () => {
  const fixture = await startFixture({ env: DOWNLOADS });
  await fixture.accept("ada");
  await fillAddress(fixture);
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 600_001);
  onTestFinished(() => clock.mockRestore());
  expect((await ENTER.download(fixture, { token: "ada" }, "active")).outcome).toBe(429);
});

test("signing in with another user's credentials does not verify an invented token", async () => {
  const fixture = await startFixture({ env: DOWNLOADS });
  const token = "invented-mine";
  const signIn = `mutation { login(input: { username: "u${AT_ONCE}", password: "x" }) { token user { username } } }`;
  expect(await fixture.ask(signIn, {}, { token })).toMatchObject({ data: { login: { token: "n3w" } } });
  await fillAddress(fixture);
  expect((await ENTER.download(fixture, { token }, "active")).outcome).toBe(429);
});
