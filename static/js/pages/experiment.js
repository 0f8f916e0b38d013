// An experiment.
import "../live-chart.js";
import "../live-run.js";
import "../live-region.js";
import "../row-selection.js";
