import { writeFileSync } from "node:fs";
import { LLMS_FILE, makeLlmsFile } from "./llms.ts";
import { readGeneratedPages } from "./pages.ts";

// Updates the generated parts of the documentation: `npm run docs`.
for (const { path, url, text, generated } of await readGeneratedPages()) {
  if (generated === text) continue;
  writeFileSync(url, generated);
  process.stdout.write(`${path}\n`);
}
writeFileSync(LLMS_FILE, makeLlmsFile());
