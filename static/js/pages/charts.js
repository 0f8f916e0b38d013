// Pages with charts load this and Plotly, besides their own script.
import "../live-chart.js";
import "../chart-layout.js";
