// A leaderboard and its history.
import "../copy-button.js";
import "../live-region.js";
