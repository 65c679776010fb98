import { execFileSync } from "node:child_process";
import { beforeAll } from "vitest";
import { root } from "./page.ts";

// One file, because all stories need one build.
import "./stories/lists.ts";
import "./stories/table.ts";
import "./stories/selection.ts";
import "./stories/filters.ts";
import "./stories/texts.ts";
import "./stories/faults.ts";
import "./stories/actions.ts";
import "./stories/access.ts";
import "./stories/live.ts";
import "./stories/origin.ts";
import "./stories/compare.ts";
import "./stories/parallel.ts";
import "./stories/matters.ts";
import "./stories/pages.ts";

beforeAll(() => {
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: root,
    env: { ...process.env, NODE_ENV: "production" },
  });
});
