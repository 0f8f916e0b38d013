// What charts with the same x axis share: the zoom and the cursor. `layout.meta.x` of a figure names its axis.
// Events on document: `chart-zoom` (detail: axis, source) and `chart-cursor` (detail: the cursor, or null). The zoom of
// the page's axis is in the page's address, as `from` and `to` in the server's unit.

import { pageAxis, parameter, setParameters } from "./address-state.js";
import { utcText } from "./chart-numbers.js";

const PRECISION = 1000;
const TOLERANCE = 2 / PRECISION;
const MS = 1000;
// The last moment of year 9999: Plotly's dates have four digits of years.
const LAST_MS = Date.UTC(9999, 11, 31);
const SMALLEST_SHARE = 1e-6;
const zooms = new Map();

let cursor = null;

/** Returns the cursor that all charts share, or null. */
export function sharedCursor() {
  return cursor;
}

/** Returns the zoom {from, to} of an axis in the server's unit, or undefined. */
export function sharedZoom(axis) {
  return zooms.get(axis);
}

/** Sets or, without a zoom, resets the zoom of an axis. `source` is the plot that already shows it. */
export function shareZoom(axis, zoom, source) {
  if (isSame(zoom, zooms.get(axis))) return;
  if (zoom) zooms.set(axis, zoom);
  else zooms.delete(axis);
  if (axis === pageAxis()) setParameters({ from: zoom?.from, to: zoom?.to });
  document.dispatchEvent(new CustomEvent("chart-zoom", { detail: { axis, source } }));
}

/** Sets the cursor {axis, x, y, lines, source}: x in the plot's own numbers, y in pixels of the plot of `source`. */
export function shareCursor(detail) {
  if (!detail && !cursor) return;
  cursor = detail;
  document.dispatchEvent(new CustomEvent("chart-cursor", { detail }));
}

function isSame(a, b) {
  if (!a || !b) return a === b;
  const tolerance = TOLERANCE * (b.to - b.from);
  return Math.abs(a.from - b.from) <= tolerance && Math.abs(a.to - b.to) <= tolerance;
}

/** Returns the visible range of an axis in the server's unit, rounded to a thousandth of its width. */
export function zoomOf({ range, type }) {
  const [from, to] = range.map((end) => toServer(end, type)).sort((a, b) => a - b);
  const step = 10 ** Math.floor(Math.log10((to - from) / PRECISION));
  const [low, high] = [from, to].map((end) => Number((Math.round(end / step) * step).toPrecision(12)));
  return low < high ? { from: low, to: high } : undefined;
}

function toServer(end, type) {
  if (type === "date") return (typeof end === "number" ? end : Date.parse(`${end.replace(" ", "T")}Z`)) / MS;
  return type === "log" ? 10 ** end : Number(end);
}

/** Returns what to change of an axis of this type for a zoom, or without a zoom. The names begin with `prefix`. */
export function axisChange(zoom, type, prefix = "") {
  if (!zoom) return { [`${prefix}autorange`]: true };
  return { [`${prefix}range`]: rangeOf(zoom, type), [`${prefix}autorange`]: false };
}

function rangeOf({ from, to }, type) {
  if (type === "date") return [from, to].map(dayOf);
  // An address may hold ends that this axis does not have.
  return type === "log" ? [Math.max(from, to * SMALLEST_SHARE), to].map(Math.log10) : [from, to];
}

function dayOf(seconds) {
  const ms = Math.max(0, Math.min(LAST_MS, seconds * MS));
  return utcText(ms);
}

const ends = ["from", "to"].map((name) => Number(parameter(name) || NaN));
if (ends.every(Number.isFinite) && ends[0] < ends[1]) zooms.set(pageAxis(), { from: ends[0], to: ends[1] });
