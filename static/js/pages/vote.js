// Votes.
import "../vote-page.js";
