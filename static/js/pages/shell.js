// Every page of a signed-in user loads this first.
import "../theme-toggle.js";
import "../dialog-opener.js";
import "../focus-restore.js";
import "../refresh-state.js";
import "../relative-time.js";
import "../swap-guard.js";
import "../request-errors.js";
import "../main-menu.js";
import "../command-palette.js";
import "../keyboard-map.js";
