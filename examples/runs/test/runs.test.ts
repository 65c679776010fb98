// One file, because all scenarios share a browser.
import "./scenarios/table.ts";
import "./scenarios/filters.ts";
import "./scenarios/faults.ts";
import "./scenarios/selection.ts";
import "./scenarios/matters.ts";
import "./scenarios/run.ts";
import "./scenarios/live.ts";
import "./scenarios/access.ts";
