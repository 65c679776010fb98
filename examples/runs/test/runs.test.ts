// One file, because all stories share a browser.
import "./scenarios/lists.ts";
import "./scenarios/table.ts";
import "./scenarios/selection.ts";
import "./scenarios/filters.ts";
import "./scenarios/texts.ts";
import "./scenarios/faults.ts";
import "./scenarios/access.ts";
import "./scenarios/live.ts";
import "./scenarios/origin.ts";
import "./scenarios/compare.ts";
import "./scenarios/parallel.ts";
import "./scenarios/matters.ts";
import "./scenarios/pages.ts";
import "./scenarios/new-run.ts";
