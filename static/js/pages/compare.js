// Run comparison and λ.
import "../diff-navigator.js";
import "../copy-button.js";
import "../live-run.js";
