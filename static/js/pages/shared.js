// Pages of a share link.
import "../live-chart.js";
import "../chart-sync.js";
import "../diff-navigator.js";
import "../copy-button.js";
import "../chart-poller.js";
