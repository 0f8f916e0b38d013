// Rewrites the words of every <time data-age="13">, such as "13 s ago", as time passes. data-age is the age in seconds
// when the server wrote it, so that a wrong clock of the reader's machine changes nothing. The words are those of `ago`
// in runs/http/display.py.

const TICK_MS = 1000;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const MAX_DAYS = 60;
const LIVE_REGIONS = "[role=status], [role=alert], [aria-live]";
const startTimes = new WeakMap();

/** Returns how long ago a time was, `seconds` before now. The element has the time itself in UTC. */
function ageWords(seconds, element) {
  if (seconds < 2) return gettext("just now");
  if (seconds < MINUTE) return interpolate(gettext("%(n)s s ago"), { n: seconds }, true);
  if (seconds < HOUR) return interpolate(gettext("%(n)s min ago"), { n: Math.floor(seconds / MINUTE) }, true);
  if (seconds < 2 * DAY) return interpolate(gettext("%(n)s h ago"), { n: Math.floor(seconds / HOUR) }, true);
  const n = Math.floor(seconds / DAY);
  if (n >= MAX_DAYS) return element.dateTime.slice(0, "2026-01-31".length);
  return interpolate(ngettext("%(n)s day ago", "%(n)s days ago", n), { n }, true);
}

/** Returns the time from which the age counts, and keeps screen readers from announcing each new second. */
function startTimeOf(element) {
  if (!startTimes.has(element)) {
    startTimes.set(element, Date.now() - 1000 * Number(element.dataset.age));
    if (element.parentElement.closest(LIVE_REGIONS)) element.setAttribute("aria-live", "off");
  }
  return startTimes.get(element);
}

function update() {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("time[data-age]")) {
    const words = ageWords(Math.floor((Date.now() - startTimeOf(element)) / 1000), element);
    if (element.textContent !== words) element.textContent = words;
  }
}

update();
setInterval(update, TICK_MS);
document.addEventListener("visibilitychange", update);
document.addEventListener("htmx:afterSettle", update);
