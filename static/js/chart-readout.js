// Reads out the values at the pointer above a chart, where no label covers the lines, and draws the cursor that all charts
// of an x axis share. A figure with `layout.meta.readout` lists its traces that have a `meta.label`.

import { FORMATS, number, utcText } from "./chart-numbers.js";
import { shareCursor } from "./chart-sync.js";

const MAX_LINES = 5;
const SAME_PLACE_PX = 3;
const BELOW_ALL = Number.MAX_VALUE;
const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dot: "2 2", dash: "5 3", longdash: "8 3", dashdot: "5 2 1 2", longdashdot: "8 2 1 2" };
const POSITIONS = {
  step: gettext("step %(x)s"),
  wall: gettext("%(x)s UTC"),
  relative: gettext("%(x)s s"),
  samples: gettext("%(x)s responses"),
  tokens: gettext("%(x)s tokens"),
  gpu_seconds: gettext("%(x)s GPU seconds"),
  k: gettext("k = %(x)s"),
  t: gettext("t = %(x)s"),
  sigma: gettext("σ = %(x)s"),
};

/** Returns a position on an axis as the page's sentences write it. */
function position(x, axis) {
  const time = axis === "wall" ? utcText(x) : undefined;
  const text = time?.slice(0, 16).replace("T", " ") ?? number(x);
  return interpolate(POSITIONS[axis] ?? "%(x)s", { x: text }, true);
}

function element(name, className, text = "") {
  const out = document.createElement(name);
  out.className = className;
  out.textContent = text;
  return out;
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

function swatch({ color, dash }) {
  const picture = document.createElementNS(SVG, "svg");
  const line = picture.appendChild(document.createElementNS(SVG, "line"));
  const stroke = { stroke: color, "stroke-width": 2.5, "stroke-dasharray": DASHES[dash] ?? "none" };
  set(picture, { width: 18, height: 8 });
  set(line, { x1: 0, y1: 4, x2: 18, y2: 4, ...stroke });
  return picture;
}

/** Returns the index of the point nearest to x, of points sorted by x. */
function nearest(points, x) {
  let [low, high] = [0, points.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle].x <= x) low = middle;
    else high = middle;
  }
  return Math.abs(points[low].x - x) <= Math.abs(points[high].x - x) ? low : high;
}

export class ChartReadout {
  constructor(chart, signal) {
    this.chart = chart;
    this.plot = chart.plot;
    this.box = chart.querySelector(".chart-readout");
    // A chart that was moved may show values instead of the hint.
    this.hint = chart.readout?.hint ?? this.box.querySelector(".hint");
    this.line = chart.querySelector(".chart-cursor") ?? chart.appendChild(element("div", "chart-cursor"));
    this.line.hidden = true;
    this.plot.addEventListener("pointermove", (event) => this.onMove(event), { signal });
    this.plot.addEventListener("pointerdown", (event) => this.onMove(event), { signal });
    this.plot.addEventListener("pointerleave", () => this.onLeave(), { signal });
  }

  get meta() {
    return this.chart.figure?.layout.meta ?? {};
  }

  get axes() {
    return this.plot._fullLayout;
  }

  onMove(event) {
    const isFirst = !this.pointer;
    this.pointer = event;
    if (isFirst) requestAnimationFrame(() => this.point());
  }

  onLeave() {
    this.pointer = undefined;
    shareCursor(null);
  }

  /** Shares the cursor at the point nearest to the pointer. */
  point() {
    const { clientX, clientY } = this.pointer ?? {};
    this.pointer = undefined;
    if (clientX === undefined || !this.chart.figure || !this.axes?.xaxis) return;
    const { xaxis, yaxis } = this.axes;
    const { left, top } = this.plot.getBoundingClientRect();
    const [px, y] = [clientX - left - xaxis._offset, clientY - top - yaxis._offset];
    if (px < 0 || px > xaxis._length || y < 0 || y > yaxis._length) return shareCursor(null);
    const x = this.snap(xaxis.p2c(px));
    const lines = this.choose(this.entries(x), y).map(({ line }) => line);
    shareCursor({ axis: this.meta.x, x, y, lines, source: this.plot });
  }

  /** Returns the traces to list with their points, as {trace, points}; points hold x as a number, of dates too. */
  listed() {
    if (!this.meta.readout) return [];
    const traces = this.plot.data.map((trace, n) => ({ trace, points: this.plot.calcdata?.[n] ?? [] }));
    const isDrawn = ({ visible }) => visible !== false && visible !== "legendonly";
    return traces.filter(({ trace, points }) => trace.meta?.label && isDrawn(trace) && points[0]?.x !== undefined);
  }

  snap(x) {
    const xs = this.listed().map(({ points }) => points[nearest(points, x)].x);
    return xs.length ? xs.reduce((best, other) => (Math.abs(other - x) < Math.abs(best - x) ? other : best)) : x;
  }

  /** Returns what each line has at x. A line that starts later or ended before has nothing there. */
  entries(x) {
    const { xaxis, yaxis } = this.axes;
    const px = xaxis.c2p(x);
    const out = [];
    for (const { trace, points } of this.listed()) {
      const n = nearest(points, x);
      const isOutside = x < points[0].x || x > points.at(-1).x;
      const isElsewhere = Math.abs(xaxis.c2p(points[n].x) - px) > SAME_PLACE_PX;
      if (isOutside && isElsewhere) continue;
      const value = trace.y[n] ?? null;
      const y = value === null ? BELOW_ALL : yaxis.c2p(points[n].y);
      const at = isElsewhere ? points[n].x : undefined;
      out.push({ trace, line: trace.legendgroup ?? trace.meta.label, n, value, y, at });
    }
    return out;
  }

  /** Returns the lines nearest to the pointer, or those that the chart under the pointer lists; the nearest first. */
  choose(entries, y, lines) {
    const byDistance = ({ y: own }) => Math.abs(own - y);
    const byChoice = ({ line }) => (lines.includes(line) ? lines.indexOf(line) : lines.length);
    const rank = lines ? byChoice : byDistance;
    return [...entries].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_LINES);
  }

  /** Shows the shared cursor, or nothing if it is null or of another axis. */
  show(cursor) {
    const isHere = cursor && this.chart.figure && this.axes?.xaxis && cursor.axis === this.meta.x && !this.plot.hidden;
    const px = isHere ? this.axes.xaxis.c2p(cursor.x) : NaN;
    const isInside = px >= 0 && px <= this.axes.xaxis._length && this.axes.hovermode !== "closest";
    this.line.hidden = !isInside;
    if (isInside) this.placeLine(px);
    if (!this.meta.readout) return;
    if (isInside) this.write(cursor);
    else if (this.box.firstElementChild !== this.hint) this.box.replaceChildren(this.hint);
  }

  placeLine(px) {
    const { xaxis, yaxis } = this.axes;
    const { offsetLeft, offsetTop } = this.plot;
    this.line.style.transform = `translate(${offsetLeft + xaxis._offset + px}px, ${offsetTop + yaxis._offset}px)`;
    this.line.style.height = `${yaxis._length}px`;
  }

  write({ x, y, lines, source }) {
    const entries = this.entries(x);
    const chosen = source === this.plot ? this.choose(entries, y) : this.choose(entries, undefined, lines);
    const where = element("span", "where", position(x, this.meta.x));
    // The box has a fixed height: the lines farthest from the pointer give way until the others fit.
    do {
      const rest = entries.length - chosen.length;
      const more = rest ? [element("span", "more", interpolate(gettext("+%s more"), [rest]))] : [];
      const byValue = [...chosen].sort((a, b) => a.y - b.y);
      this.box.replaceChildren(where, ...byValue.map((entry) => this.item(entry)), ...more);
    } while (this.box.scrollHeight > this.box.clientHeight + 1 && chosen.length > 1 && chosen.pop());
  }

  item({ trace, n, value, at }) {
    const format = FORMATS[this.meta.format] ?? number;
    const item = element("span", "entry");
    item.append(swatch(trace.line ?? {}), element("span", "label", trace.meta.label), element("b", "", format(value)));
    const details = [];
    const [low, high, count] = trace.customdata?.[n] ?? [];
    if (count !== undefined) details.push(this.band(format, low, high, count));
    if (at !== undefined) details.push(interpolate(gettext("at %s"), [position(at, this.meta.x)]));
    if (details.length) item.append(element("small", "", details.join(", ")));
    return item;
  }

  band(format, low, high, n) {
    const count = `n\u00a0=\u00a0${n}`;
    return low === null || high === null ? count : `${format(low)} … ${format(high)}, ${count}`;
  }
}
