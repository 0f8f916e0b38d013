// An experiment.
import "../live-run.js";
import "../live-region.js";
import "../row-selection.js";
