// A run.
import "../chart-grid.js";
import "../live-run.js";
import "../moved-anchors.js";
import "../live-region.js";
import "../copy-button.js";
import "../log-tail.js";
import "../url-switch.js";
import "../page-filter.js";
import "../countdown-timer.js";
import "../step-scrubber.js";
