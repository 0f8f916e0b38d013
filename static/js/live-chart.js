// <live-chart>: draws the figure that lies in it as JSON, adds points as they arrive, and asks htmx for a fresh figure
// and fresh words now and then. Nothing is drawn or fetched while it is out of sight.

import { paint } from "./chart-paint.js";
import { askForTurn, giveUpTurn } from "./chart-turns.js";
import { oneStop } from "./toolbar-keys.js";

const FLUSH_MS = 500;
const ZOOM_MS = 250;
// Nothing leaves this site: Plotly's button that uploads a chart is not there, nor an address for it.
const REMOVED = ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"];
const CONFIG = { responsive: true, displaylogo: false, plotlyServerURL: "", modeBarButtonsToRemove: REMOVED };
const SAYABLE = { NaN: null, Infinity: null, "-Infinity": null };

/** Adds points that come after the line's last one. False where some did not. */
function append(line, { step, value }) {
  let all = true;
  step.forEach((x, n) => {
    if (x <= line.last) return (all = false);
    line.x.push(x);
    line.y.push(value[n] in SAYABLE ? null : value[n]);
    line.last = x;
  });
  return all;
}

class LiveChart extends HTMLElement {
  connectedCallback() {
    this.plot = this.querySelector(".plot");
    this.words = this.querySelector("[data-words]");
    this.keys = new Set(JSON.parse(this.dataset.keys || "[]"));
    this.recent = [];
    this.flushedAt = -Infinity;
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("points", (event) => this.onPoints(event.detail), { signal });
    document.addEventListener("points-missed", () => this.spoil(0), { signal });
    document.addEventListener("theme-changed", () => this.onTheme(), { signal });
    document.addEventListener("print-wanted", () => this.source && this.draw(), { signal });
    this.addEventListener("htmx:afterSwap", () => this.onFigure(), { signal });
    this.words.addEventListener("htmx:configRequest", ({ detail }) => Object.assign(detail.parameters, this.zoom), { signal });
    if (this.dataset.changed) document.body.addEventListener(this.dataset.changed, () => this.spoil(), { signal });
    this.sight = new IntersectionObserver(([entry]) => this.onSight(entry.isIntersecting), { rootMargin: "200px" });
    this.sight.observe(this);
  }

  disconnectedCallback() {
    this.stop.abort();
    this.sight.disconnect();
    giveUpTurn(this);
    clearTimeout(this.flushing);
    clearTimeout(this.refreshing);
    clearTimeout(this.closer);
    if (this.figure) Plotly.purge(this.plot);
  }

  onSight(inSight) {
    this.inSight = inSight;
    if (!inSight) return;
    if (!this.source) return this.refresh();
    if (!this.figure || this.isOutOfTheme) this.drawSoon();
    else if (this.recent.length) this.flushSoon();
    if (this.spoilt) this.refresh();
  }

  onTheme() {
    this.isOutOfTheme = true;
    if (this.inSight && this.source) this.drawSoon();
  }

  /** The figure as JSON; not there before it is asked for, on a page of many charts. */
  get source() {
    return this.querySelector('script[type="application/json"]');
  }

  drawSoon() {
    this.isUndrawn = true;
    askForTurn(this);
  }

  takeTurn() {
    if (this.isUndrawn) this.draw();
    else this.flush();
  }

  /** Draws what the JSON says. The reader's zoom and hidden lines are kept: the figure's uirevision never changes. */
  draw() {
    this.isUndrawn = this.isOutOfTheme = false;
    this.figure = JSON.parse(this.source.textContent);
    this.plot.hidden = !this.figure.data.length;
    if (this.plot.hidden) return;
    const { data, layout } = paint(this.figure);
    Plotly.react(this.plot, data, layout, CONFIG);
    this.watchZoom();
    this.makeHeard();
    this.dispatchEvent(new CustomEvent("chart-drawn", { bubbles: true }));
    this.flushSoon();
  }

  watchZoom() {
    if (this.watchesZoom) return;
    this.watchesZoom = true;
    this.plot.on("plotly_relayout", (change) => this.onZoom(change));
  }

  /** A closer look needs more points than the whole line does: they are asked for once the reader holds still. */
  onZoom(change) {
    if (change["xaxis.autorange"]) this.zoom = undefined;
    else if ("xaxis.range[0]" in change || "xaxis.range" in change) this.zoom = this.range();
    else return;
    if (!this.figure.layout.meta.thinned) return;
    clearTimeout(this.closer);
    this.closer = setTimeout(() => this.refresh(true), ZOOM_MS);
  }

  /** The range on screen, in the unit of the server's x. */
  range() {
    const { range, type } = this.plot.layout.xaxis;
    const seconds = (day) => (typeof day === "number" ? day : Date.parse(`${day.replace(" ", "T")}Z`)) / 1000;
    const [from, to] = type === "date" ? range.map(seconds) : range;
    return { from, to };
  }

  /** The words above and the table below say what the picture shows; read aloud, it is loose numbers of its axes. */
  makeHeard() {
    for (const picture of this.plot.querySelectorAll("svg")) picture.setAttribute("aria-hidden", "true");
    for (const toolbar of this.plot.querySelectorAll("[role=toolbar]")) oneStop(toolbar);
  }

  onFigure() {
    this.asked = false;
    // Points that came before the question was asked are in the answer.
    this.recent = this.recent.filter((points) => points.at >= this.askedAt);
    this.drawSoon();
  }

  onPoints({ run, points }) {
    const mine = Object.keys(points).filter((key) => this.keys.has(key));
    if (!mine.length) return;
    for (const key of mine) this.recent.push({ run, key, at: performance.now(), ...points[key] });
    this.flushSoon();
    this.spoil();
  }

  flushSoon() {
    if (!this.recent.length || !this.inSight || !this.figure) return;
    const wait = Math.max(0, FLUSH_MS - (performance.now() - this.flushedAt));
    this.flushing ??= setTimeout(() => {
      this.flushing = undefined;
      askForTurn(this);
    }, wait);
  }

  /** Adds what came to the lines on screen. Steps that go back are left to a fresh figure, which greys them. */
  flush() {
    this.flushedAt = performance.now();
    const traces = this.plot.data ?? [];
    if (this.figure.layout.meta.x !== "step") return;
    const added = new Map();
    for (const points of this.recent) {
      const i = traces.findIndex(({ meta }) => meta?.run === points.run && meta?.key === points.key);
      if (i < 0) continue;
      const line = added.get(i) ?? { x: [], y: [], last: traces[i].x.at(-1) ?? -Infinity };
      const wentBack = !append(line, points);
      if (wentBack && !points.seen) this.spoil(1);
      points.seen = true;
      if (line.x.length) added.set(i, line);
    }
    const lines = [...added.values()];
    if (lines.length) Plotly.extendTraces(this.plot, { x: lines.map((l) => l.x), y: lines.map((l) => l.y) }, [...added.keys()]);
  }

  /** Means, bands and words are the server's to make: they are asked for again, not more often than they can be read. */
  spoil(seconds = Number(this.dataset.refreshSeconds)) {
    this.spoilt = true;
    const due = performance.now() + 1000 * seconds;
    if (this.refreshing && due >= this.due) return;
    clearTimeout(this.refreshing);
    this.due = due;
    this.refreshing = setTimeout(() => {
      this.refreshing = undefined;
      if (this.spoilt && this.inSight) this.refresh();
    }, 1000 * seconds);
  }

  refresh(isUrgent = false) {
    if (!isUrgent && this.asked && performance.now() - this.askedAt < 30000) return;
    this.spoilt = false;
    this.asked = true;
    this.askedAt = performance.now();
    this.words.dispatchEvent(new CustomEvent("chart-stale"));
  }
}

customElements.define("live-chart", LiveChart);
