import { describe, expect, test } from "vitest";
import { MNIST, openDemo } from "../support/demo-clock.ts";

describe("signing in to the demo", () => {
  test("a password gives the token; faults are named as the service names them", async () => {
    const { demo, as } = await openDemo();
    const ask = as(null);
    const right = await ask("POST users/token/", { username: "grace", password: "grace-demo" });
    expect(right.json).toEqual({ token: demo.users[1]?.token });
    expect(demo.users[1]?.token).toMatch(/^[0-9a-f]{40}$/);
    const refused = { non_field_errors: ["Unable to log in with provided credentials."] };
    for (const [body, fault] of [
      [{ username: "grace", password: "wrong" }, refused],
      [{ username: "nobody", password: "wrong" }, refused],
      [{ username: "margaret", password: "margaret-demo" }, refused],
      [{}, { username: ["This field is required."], password: ["This field is required."] }],
      [
        { username: null, password: "" },
        { username: ["This field may not be null."], password: ["This field may not be blank."] },
      ],
      [["grace"], { non_field_errors: ["Invalid data. Expected a dictionary, but got list."] }],
    ]) {
      expect(await ask("POST users/token/", body)).toMatchObject({ status: 400, json: fault });
    }
    expect((await ask("POST users/token/", "{")).json.detail).toMatch(/^JSON parse error - /);
    expect(
      (await as("nonsense")("POST users/token/", { username: "grace", password: "grace-demo" })).status,
    ).toBe(403);
  });

  test("a missing, unknown or malformed token is refused, and nobody is told who they are", async () => {
    const { demo } = await openDemo();
    const get = async (path: string, authorization?: string) => {
      const response = await fetch(
        `${demo.url}/api/v1/${path}`,
        authorization ? { headers: { authorization } } : {},
      );
      return [response.status, await response.json()];
    };
    const token = demo.users[0]?.token;
    const nobody = [200, { username: "", is_superuser: false }];
    const unnamed = [403, { detail: "Authentication credentials were not provided." }];
    expect(await get("users/")).toEqual(nobody);
    expect(await get("users/", `Bearer ${token}`)).toEqual(nobody);
    expect(await get("users/", `TOKEN ${token}`)).toMatchObject([
      200,
      { username: "ada", is_superuser: true },
    ]);
    expect(await get(`${MNIST}/jobs/1/`)).toEqual(unnamed);
    expect(await get("cluster/", `Bearer ${token}`)).toEqual(unnamed);
    expect(await get(`${MNIST}/jobs/1/`, "token 0000")).toEqual([403, { detail: "Invalid token." }]);
    expect(await get(`${MNIST}/jobs/1/`, "token")).toMatchObject([
      403,
      { detail: /No credentials provided/ },
    ]);
    expect(await get(`${MNIST}/jobs/1/`, "token a b")).toMatchObject([
      403,
      { detail: /should not contain spaces/ },
    ]);
    expect(await get("users/", `token ${demo.users[3]?.token}`)).toEqual([
      403,
      { detail: "User inactive or deleted." },
    ]);
  });

  test("private projects are closed to others, public ones can be read and not changed", async () => {
    const { as } = await openDemo();
    const [ada, grace] = [as("ada"), as("grace")];
    const forbidden = { status: 403, json: { detail: "You do not have permission to perform this action." } };
    expect(await grace("GET ada/speech/experiments/6/")).toMatchObject(forbidden);
    expect(await grace("GET ada/speech/experiments")).toMatchObject(forbidden);
    expect(await grace("GET ada/speech/jobs/999/logs")).toMatchObject(forbidden);
    expect(await grace(`GET ${MNIST}/experiments/42/`)).toMatchObject({ status: 200 });
    expect(await grace(`PATCH ${MNIST}/experiments/42/`, { description: "x" })).toMatchObject(forbidden);
    expect(await grace(`DELETE ${MNIST}/experiments/42/`)).toMatchObject(forbidden);
    expect(await grace(`POST ${MNIST}/experiments/42/bookmark/`)).toMatchObject(forbidden);
    expect(await grace("GET cluster/")).toMatchObject({ status: 200 });
    expect(await grace("GET nodes/1")).toMatchObject({ status: 200 });
    expect(await grace("POST users/activate/margaret/")).toMatchObject(forbidden);
    expect(await grace("DELETE users/delete/linus/")).toMatchObject(forbidden);
    expect(await ada("PATCH grace/vision/experiments/8/", { description: "x" })).toMatchObject({
      status: 200,
    });
  });

  test("users are activated, raised, lowered and deleted with everything that was theirs", async () => {
    const { as } = await openDemo();
    const [ada, grace, margaret] = [as("ada"), as("grace"), as("margaret")];
    await ada("POST users/activate/margaret/");
    expect((await margaret("GET users/")).json).toEqual({
      username: "margaret",
      email: "margaret@example.com",
      is_superuser: false,
    });
    await ada("POST superusers/grant/grace/");
    expect((await grace("GET users/")).json.is_superuser).toBe(true);
    expect((await grace("GET ada/speech/experiments/6/")).status).toBe(200);
    await ada("DELETE superusers/revoke/grace/");
    expect((await grace("GET users/")).json.is_superuser).toBe(false);
    expect((await ada("DELETE users/delete/grace/")).status).toBe(204);
    expect((await ada("DELETE users/delete/grace/")).status).toBe(404);
    expect((await grace("GET users/")).json).toEqual({ detail: "Invalid token." });
    expect((await ada("GET grace/vision/experiments/8/")).status).toBe(404);
    // A job that linus made in a project of ada goes with him.
    await ada("DELETE users/delete/linus/");
    expect((await ada(`GET ${MNIST}/jobs/4/`)).status).toBe(404);
    expect((await ada("POST superusers/grant/nobody/")).status).toBe(404);
  });
});
