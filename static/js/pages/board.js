// A leaderboard and its history.
import "../live-chart.js";
import "../copy-button.js";
