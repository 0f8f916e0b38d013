// Responses over steps, and collapse.
import "../live-chart.js";
import "../step-scrubber.js";
