// Response comparison.
import "../lasso-chart.js";
import "../response-keys.js";
import "../response-layout.js";
import "../copy-button.js";
