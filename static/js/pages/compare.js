// Run comparison and λ.
import "../live-chart.js";
import "../chart-sync.js";
import "../diff-navigator.js";
import "../copy-button.js";
import "../live-run.js";
