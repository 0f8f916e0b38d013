// Responses over steps, and collapse.
import "../step-scrubber.js";
