// Pages of a share link.
import "../diff-navigator.js";
import "../copy-button.js";
import "../chart-poller.js";
import "../relative-time.js";
