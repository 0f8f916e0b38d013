// Results of probes.
import "../heat-map.js";
import "../live-run.js";
