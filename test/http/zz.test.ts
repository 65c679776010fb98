import { test } from "vitest";
import { startDemoGateway, listen } from "../harness.ts";
import { introspectionFromSchema } from "graphql";
test("probe", async () => {
  const { url, logged } = await startDemoGateway({ env: { INTROSPECTION: "off", CORS_ORIGINS: "https://a.example" } });
  const post = async (body: any, headers: any = {}) => { const r = await fetch(url + "/graphql", { method: "POST", headers: { "content-type": "application/json", accept: "application/json", ...headers }, body, duplex: "half" } as any).catch((e) => e); 
   if (r instanceof Error) { console.log(String(r), (r as any).cause); return; } console.log(r.status, JSON.stringify([...r.headers]), (await r.text()).slice(0, 600)); };
  const q = (query: string, variables?: any) => post(JSON.stringify({ query, variables }));
  await post(undefined);
  await post('{ "not a JSON');
  await post("[]"); await post('[{"query":"{__typename}"}]');
  await q("{ viewr { id } }");
  await q("{ viewer { usernam } }");
  await q('{ experiment(idd: "x") { id } }');
  await q('{ experiment(id: "x") { ... on Experimentt { id } } }');
  await q('{ experiment(id: "ada.mnist.1") { statuses(orderBy: X) { totalCount } } }');
  await q('{ group(id: "ada.mnist.1") { experiments(orderBy: CREATED_ASD) { totalCount } } }');
  await q('query($o: ExperimentOrder) { group(id: "ada.mnist.1") { experiments(orderBy: $o) { totalCount } } }', {o: "CREATED_ASD"});
  await q('mutation { login(input: { usernme: "a", password: "b" }) { token } }');
  await q('mutation L($i: LoginInput!) { login(input: $i) { token } }', { i: { usernme: "a", username: "b", password: "c" } });
  await q('{ entity(id: "x") { username } }');
  await q("{ __schema { types { name } } }");
  await q("{ __type(name: \"Job\") { name } }");
  await q("{ viewer");
  await post("x", { "content-type": "text/plain", "x-request-id": "abc", origin: "https://a.example" });
  const chunked = (n: number, size: number) => new ReadableStream({ pull(c) { if (n-- <= 0) c.close(); else c.enqueue(new Uint8Array(size).fill(32)); } });
  for (let i = 0; i < 5; i++) await post(chunked(3, 100_000));
  for (let i = 0; i < 5; i++) await post(chunked(200, 100_000));
  for (let i = 0; i < 3; i++) await post("x".repeat(5_000_000));
  for (const m of ["OPTIONS", "PUT", "DELETE", "HEAD", "GET"]) { const r = await fetch(url + "/graphql", { method: m, headers: { origin: "https://b.example" } }); console.log(m, r.status, JSON.stringify([...r.headers]), (await r.text()).slice(0, 200)); }
  { const r = await fetch(url + "/graphql?query=" + encodeURIComponent('mutation { login(input: {username: "ada", password: "x"}) { token } }'), { headers: { accept: "application/json" } }); console.log(r.status, await r.text()); }
  { const r = await fetch(url + "/graphql", { headers: { accept: "text/html" } }); console.log(r.status, (await r.text()).slice(0, 100)); }
  console.log(logged());
});
test("probe2", async () => {
  const { url, ask } = await startDemoGateway({ env: { MAX_DEPTH: "3"} });
  console.log(JSON.stringify(await ask("{ __schema { types { fields { type { fields { type { fields { type { fields { name }}}}}}}}}}")).slice(0, 500));
  for (const n of [20, 24]) {
  let frag = ""; for (let i = 0; i < n; i++) frag += ` fragment f${i} on Viewer { ...f${i+1} ...f${i+1} }`; frag += ` fragment f${n} on Viewer { id }`;
  const t = Date.now(); const a = await ask("{ viewer { ...f0 } }" + frag); console.log(n, Date.now() - t, JSON.stringify(a).slice(0, 300)); }
});
