import type { BrowserContextOptions } from "playwright-core";
import { startDemoGateway } from "../../../test/support/demo-gateway.ts";
import { open, signIn } from "./page.ts";

/** A page of the demo's, signed in as ada, with what it complains of in the console. */
export async function openAt(hash: string, options: BrowserContextOptions = {}, profile = "polyaxon-0.4") {
  const now = Date.now();
  const gateway = await startDemoGateway({ env: { UPSTREAM_PROFILE: profile }, now: () => now });
  const opened = await open(gateway.url, options);
  const complaints: string[] = [];
  opened.page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  opened.page.on("pageerror", ({ message }) => complaints.push(message));
  await opened.page.goto(`${opened.address}${hash}`);
  await signIn(opened.page, "ada");
  // A page that goes on before would be one of nobody: a reload forgets whoever is still signing in.
  await opened.page.getByRole("button", { name: "Sign out" }).waitFor();
  return { ...gateway, ...opened, complaints };
}
