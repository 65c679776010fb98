// One file, because all stories share a browser.
import "./stories/lists.ts";
import "./stories/table.ts";
import "./stories/selection.ts";
import "./stories/filters.ts";
import "./stories/texts.ts";
import "./stories/faults.ts";
import "./stories/access.ts";
import "./stories/live.ts";
import "./stories/origin.ts";
import "./stories/compare.ts";
import "./stories/parallel.ts";
import "./stories/matters.ts";
import "./stories/pages.ts";
