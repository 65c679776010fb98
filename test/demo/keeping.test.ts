import { describe, expect, test } from "vitest";
import { idsIn, MNIST, openDemo } from "../support/demo-clock.ts";

const KINDS = ["experiments", "jobs", "builds", "groups"];

const keptIds = (answer: { json: { results: { content_object: { id: number } }[] } }) =>
  answer.json.results.map(({ content_object: { id } }) => id);

describe("bookmarks of the demo", () => {
  test.each(KINDS)("of %s hold the rows of their list, without the mark, the latest first", async (kind) => {
    const { ask } = await openDemo();
    for (const id of [2, 1]) expect((await ask(`POST ${MNIST}/${kind}/${id}/bookmark/`)).status).toBe(201);
    const answer = await ask(`GET bookmarks/ada/${kind}?limit=2`);
    expect(keptIds(answer)).toEqual([1, 2]);
    const listed = (await ask(`GET ${MNIST}/${kind}?query=id:1`)).json.results[0];
    const { bookmarked, ...row } = listed;
    expect(bookmarked).toBe(true);
    expect(answer.json.results[0]).toEqual({ content_object: row });

    await ask(`DELETE ${MNIST}/${kind}/1/unbookmark/`);
    expect(keptIds(await ask(`GET bookmarks/ada/${kind}?limit=1`))).toEqual([2]);
  });

  test("of projects are of any owner", async () => {
    const { ask } = await openDemo();
    const { json } = await ask("GET bookmarks/ada/projects");
    expect(json).toMatchObject({ count: 1, results: [{ content_object: { unique_name: "grace.vision" } }] });
    expect(json.results[0].content_object).not.toHaveProperty("bookmarked");
  });

  test("are shown to their user and to superusers; to others they are empty", async () => {
    const { ask } = await openDemo();
    for (const list of ["bookmarks", "archives"]) {
      const path = `GET ${list}/ada/experiments`;
      expect((await ask(path)).json.count).toBe(1);
      expect((await ask(path, undefined, "grace")).json).toEqual({
        count: 0,
        next: null,
        previous: null,
        results: [],
      });
      expect((await ask(path, undefined, null)).status).toBe(403);
      expect(await ask(`GET ${list}/nobody/experiments`)).toMatchObject({
        status: 404,
        json: { detail: "Not found." },
      });
    }
    expect(keptIds(await ask("GET bookmarks/grace/experiments"))).toEqual([1]);
  });
});

describe("archives of the demo", () => {
  test.each(KINDS)("take %s out of their list, not out of reach, and give them back", async (kind) => {
    const { ask } = await openDemo();
    const [first, all] = [`${MNIST}/${kind}/1`, `GET ${MNIST}/${kind}?limit=100`];
    const [row] = (await ask(`GET ${MNIST}/${kind}?query=id:1`)).json.results;
    const before = idsIn(await ask(all));

    expect(await ask(`POST ${first}/archive`)).toMatchObject({ status: 200, text: "" });
    expect(idsIn(await ask(all))).toEqual(before.filter((id) => id !== 1));
    expect((await ask(`GET ${first}/`)).status).toBe(200);
    const { json } = await ask(`GET archives/ada/${kind}`);
    const archived = json.results.find(({ id }: { id: number }) => id === 1);
    expect(Object.keys(archived)).toEqual([...Object.keys(row), "deleted"]);
    expect(archived).toMatchObject({ unique_name: row.unique_name, deleted: true });

    expect(await ask(`POST ${first}/restore`)).toMatchObject({ status: 200, text: "" });
    expect(idsIn(await ask(all)).toSorted()).toEqual(before.toSorted());
    expect(idsIn(await ask(`GET archives/ada/${kind}`))).not.toContain(1);
  });

  test("stop what runs; a group takes its experiments along, there and back", async () => {
    const { ask, wait } = await openDemo();
    const counted = async () => [
      (await ask(`GET ${MNIST}/groups/2/`)).json.num_experiments,
      (await ask(`GET ${MNIST}/experiments?group=2`)).json.count,
    ];
    const before = await counted();
    await ask(`POST ${MNIST}/groups/2/archive`);
    expect(await counted()).toEqual([0, 0]);
    expect((await ask("GET archives/ada/experiments")).json.count).toBe(1 + before[1]);
    wait(60);
    expect((await ask(`GET ${MNIST}/groups/2/`)).json.last_status).toBe("stopped");
    await ask(`POST ${MNIST}/groups/2/restore`);
    expect(await counted()).toEqual(before);
  });

  test("leave a run that has ended as it is", async () => {
    const { ask, wait } = await openDemo();
    await ask(`POST ${MNIST}/jobs/1/archive`);
    wait(60);
    expect((await ask(`GET ${MNIST}/jobs/1/`)).json.last_status).toBe("succeeded");
  });

  test("hold projects, which no list of projects has", async () => {
    const { ask } = await openDemo();
    const { json } = await ask("GET archives/ada/projects");
    expect(json).toMatchObject({ count: 1, results: [{ unique_name: "ada.attic", deleted: true }] });
    expect(idsIn(await ask("GET ada"))).not.toContain(json.results[0].id);
  });

  test("are filled by those who may change a run", async () => {
    const { ask } = await openDemo();
    expect((await ask(`POST ${MNIST}/jobs/1/archive`, undefined, "grace")).status).toBe(403);
    expect((await ask(`POST ${MNIST}/jobs/999/archive`)).status).toBe(404);
  });
});
