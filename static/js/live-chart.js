// <live-chart>: draws the figure that it contains as JSON, adds points as they arrive, and regularly fetches a new figure
// and text by htmx. It draws and fetches nothing while it is outside the viewport.

import { paint } from "./chart-paint.js";
import { requestTurn, cancelTurn } from "./chart-queue.js";
import { setTabStop } from "./toolbar-keys.js";

const FLUSH_MS = 500;
const ZOOM_MS = 250;
const FETCH_TIMEOUT_MS = 30000;
// Remove Plotly's upload button and its server address, so that no data leaves this site.
const REMOVED_BUTTONS = ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"];
const CONFIG = { responsive: true, displaylogo: false, plotlyServerURL: "", modeBarButtonsToRemove: REMOVED_BUTTONS };
const NON_FINITE = { NaN: null, Infinity: null, "-Infinity": null };

/** Adds the points that follow the line's last one. Returns false if a point did not follow it. */
function append(line, { step, value }) {
  let inOrder = true;
  step.forEach((x, n) => {
    if (x <= line.last) return (inOrder = false);
    line.x.push(x);
    line.y.push(value[n] in NON_FINITE ? null : value[n]);
    line.last = x;
  });
  return inOrder;
}

class LiveChart extends HTMLElement {
  connectedCallback() {
    this.plot = this.querySelector(".plot");
    this.summary = this.querySelector("[data-words]");
    this.keys = new Set(JSON.parse(this.dataset.keys || "[]"));
    this.newPoints = [];
    this.flushedAt = -Infinity;
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("points", (event) => this.onPoints(event.detail), { signal });
    document.addEventListener("points-missed", () => this.markStale(0), { signal });
    document.addEventListener("theme-changed", () => this.onTheme(), { signal });
    document.addEventListener("theme-print", () => this.source && this.draw(), { signal });
    this.addEventListener("htmx:afterSwap", () => this.onFigure(), { signal });
    this.summary.addEventListener("htmx:configRequest", ({ detail }) => Object.assign(detail.parameters, this.zoom), { signal });
    if (this.dataset.changed) document.body.addEventListener(this.dataset.changed, () => this.markStale(), { signal });
    this.observer = new IntersectionObserver(([entry]) => this.onVisibility(entry.isIntersecting), { rootMargin: "200px" });
    this.observer.observe(this);
  }

  disconnectedCallback() {
    this.stop.abort();
    this.observer.disconnect();
    cancelTurn(this);
    clearTimeout(this.flushTimer);
    clearTimeout(this.refreshTimer);
    clearTimeout(this.zoomTimer);
    if (this.figure) Plotly.purge(this.plot);
  }

  onVisibility(isVisible) {
    this.isVisible = isVisible;
    if (!isVisible) return;
    if (!this.source) return this.refresh();
    if (!this.figure || this.isOldTheme) this.scheduleDraw();
    else if (this.newPoints.length) this.scheduleFlush();
    if (this.isStale) this.refresh();
  }

  onTheme() {
    this.isOldTheme = true;
    if (this.isVisible && this.source) this.scheduleDraw();
  }

  /** The element with the figure as JSON. On a page of many charts it is missing until the first refresh. */
  get source() {
    return this.querySelector('script[type="application/json"]');
  }

  scheduleDraw() {
    this.needsDraw = true;
    requestTurn(this);
  }

  takeTurn() {
    if (this.needsDraw) this.draw();
    else this.flush();
  }

  /** Draws the JSON figure. The zoom and the hidden lines stay, because the figure's uirevision never changes. */
  draw() {
    this.needsDraw = this.isOldTheme = false;
    this.figure = JSON.parse(this.source.textContent);
    this.plot.hidden = !this.figure.data.length;
    if (this.plot.hidden) return;
    const { data, layout } = paint(this.figure);
    Plotly.react(this.plot, data, layout, CONFIG);
    this.watchZoom();
    this.makeAccessible();
    this.dispatchEvent(new CustomEvent("chart-drawn", { bubbles: true }));
    this.scheduleFlush();
  }

  watchZoom() {
    if (this.watchesZoom) return;
    this.watchesZoom = true;
    this.plot.on("plotly_relayout", (change) => this.onZoom(change));
  }

  /** Fetches more points for a zoomed range, once the user has stopped zooming. */
  onZoom(change) {
    if (change["xaxis.autorange"]) this.zoom = undefined;
    else if ("xaxis.range[0]" in change || "xaxis.range" in change) this.zoom = this.range();
    else return;
    if (!this.figure.layout.meta.thinned) return;
    clearTimeout(this.zoomTimer);
    this.zoomTimer = setTimeout(() => this.refresh(true), ZOOM_MS);
  }

  /** Returns the visible range in the unit of the server's x. */
  range() {
    const { range, type } = this.plot.layout.xaxis;
    const seconds = (day) => (typeof day === "number" ? day : Date.parse(`${day.replace(" ", "T")}Z`)) / 1000;
    const [from, to] = type === "date" ? range.map(seconds) : range;
    return { from, to };
  }

  /** Hides the picture from screen readers, which would read loose numbers of its axes: a text and a table describe it. */
  makeAccessible() {
    for (const picture of this.plot.querySelectorAll("svg")) picture.setAttribute("aria-hidden", "true");
    for (const toolbar of this.plot.querySelectorAll("[role=toolbar]")) setTabStop(toolbar);
  }

  onFigure() {
    this.isFetching = false;
    // The new figure contains all points that arrived before its request.
    this.newPoints = this.newPoints.filter((points) => points.at >= this.requestedAt);
    this.scheduleDraw();
  }

  onPoints({ run, points }) {
    const keys = Object.keys(points).filter((key) => this.keys.has(key));
    if (!keys.length) return;
    for (const key of keys) this.newPoints.push({ run, key, at: performance.now(), ...points[key] });
    this.scheduleFlush();
    this.markStale();
  }

  scheduleFlush() {
    if (!this.newPoints.length || !this.isVisible || !this.figure) return;
    const wait = Math.max(0, FLUSH_MS - (performance.now() - this.flushedAt));
    this.flushTimer ??= setTimeout(() => {
      this.flushTimer = undefined;
      requestTurn(this);
    }, wait);
  }

  /** Adds new points to the lines on screen. If steps go back, a new figure is fetched, which greys the replaced ones. */
  flush() {
    this.flushedAt = performance.now();
    const traces = this.plot.data ?? [];
    if (this.figure.layout.meta.x !== "step") return;
    const added = new Map();
    for (const points of this.newPoints) {
      const i = traces.findIndex(({ meta }) => meta?.run === points.run && meta?.key === points.key);
      if (i < 0) continue;
      const line = added.get(i) ?? { x: [], y: [], last: traces[i].x.at(-1) ?? -Infinity };
      const wentBack = !append(line, points);
      if (wentBack && !points.seen) this.markStale(1);
      points.seen = true;
      if (line.x.length) added.set(i, line);
    }
    const lines = [...added.values()];
    if (lines.length) Plotly.extendTraces(this.plot, { x: lines.map((l) => l.x), y: lines.map((l) => l.y) }, [...added.keys()]);
  }

  /** Schedules a refresh. The server computes means, bands and text, so they are fetched at a readable rate. */
  markStale(seconds = Number(this.dataset.refreshSeconds)) {
    this.isStale = true;
    const due = performance.now() + 1000 * seconds;
    if (this.refreshTimer && due >= this.due) return;
    clearTimeout(this.refreshTimer);
    this.due = due;
    this.refreshTimer = setTimeout(() => {
      this.refreshTimer = undefined;
      if (this.isStale && this.isVisible) this.refresh();
    }, 1000 * seconds);
  }

  refresh(isUrgent = false) {
    if (!isUrgent && this.isFetching && performance.now() - this.requestedAt < FETCH_TIMEOUT_MS) return;
    this.isStale = false;
    this.isFetching = true;
    this.requestedAt = performance.now();
    this.summary.dispatchEvent(new CustomEvent("chart-stale"));
  }
}

customElements.define("live-chart", LiveChart);
