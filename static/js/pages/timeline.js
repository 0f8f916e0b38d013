// Responses over steps, and collapse.
import "../live-run.js";
import "../step-scrubber.js";
