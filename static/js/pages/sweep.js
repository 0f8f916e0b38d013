// A sweep.
import "../live-run.js";
import "../live-region.js";
import "../sweep-options.js";
import "../parallel-brush.js";
