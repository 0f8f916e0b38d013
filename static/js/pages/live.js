// Pages with a part that htmx refreshes: home, queue, sweep.
import "../live-run.js";
import "../live-region.js";
