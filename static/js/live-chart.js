// <live-chart>: draws the figure that it contains as JSON, adds points as they arrive, and regularly fetches a new figure
// and text by htmx. It draws and fetches nothing while it is outside the viewport.

import "./chart-export.js";
import "./chart-fullscreen.js";
import "./chart-legend.js";
import "./chart-smoothing.js";
import { carryChartState } from "./chart-request.js";
import { withHidden } from "./chart-lines.js";
import { paint } from "./chart-paint.js";
import { extensions } from "./chart-points.js";
import { requestTurn, cancelTurn } from "./chart-queue.js";
import { ChartReadout } from "./chart-readout.js";
import { axisChange, sharedCursor, sharedZoom, shareZoom, zoomOf } from "./chart-sync.js";
import { setTabStop } from "./toolbar-keys.js";

const FLUSH_MS = 500;
const ZOOM_MS = 250;
const FETCH_TIMEOUT_MS = 30000;

/** Returns Plotly's configuration. Its toolbar sends nothing to another site, and its double-click and reset are ours. */
const configure = (reset) => ({
  responsive: true,
  displaylogo: false,
  plotlyServerURL: "",
  doubleClick: false,
  modeBarButtons: [
    ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d"],
    [{ name: "reset", title: gettext("Reset axes"), icon: Plotly.Icons.home, click: reset }],
  ],
});

class LiveChart extends HTMLElement {
  connectedCallback() {
    this.plot = this.querySelector(".plot");
    this.summary = this.querySelector("[data-words]");
    this.keys = new Set(JSON.parse(this.dataset.keys || "[]"));
    this.newPoints ??= [];
    this.changes = new Set();
    this.flushedAt = -Infinity;
    this.stop = new AbortController();
    this.readout = new ChartReadout(this, this.stop.signal);
    this.listen(this.stop.signal);
    // A busy page gets several entries at once, the newest last.
    const observe = (entries) => this.onVisibility(entries.at(-1).isIntersecting);
    this.observer = new IntersectionObserver(observe, { rootMargin: "200px" });
    this.observer.observe(this);
    this.resizer = new ResizeObserver(() => this.onResize());
    this.resizer.observe(this.plot);
  }

  listen(signal) {
    const on = (type, handler) => document.addEventListener(type, ({ detail }) => handler(detail), { signal });
    on("points", (detail) => this.onPoints(detail));
    on("points-missed", () => this.markStale(0));
    on("theme-changed", () => this.onTheme());
    on("theme-print", () => this.source && this.draw());
    on("chart-zoom", (detail) => this.onSharedZoom(detail));
    on("chart-cursor", (detail) => this.isVisible && this.readout.show(detail));
    on("chart-lines", () => this.change("lines"));
    on("chart-options", () => (this.isVisible ? this.refresh(true) : (this.isStale = true)));
    this.addEventListener("htmx:afterSwap", () => this.onFigure(), { signal });
    carryChartState(this.closest(".chart") ?? this, this, signal);
    if (this.dataset.changed) document.body.addEventListener(this.dataset.changed, () => this.markStale(), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
    this.observer.disconnect();
    this.resizer.disconnect();
    cancelTurn(this);
    for (const timer of ["flushTimer", "refreshTimer", "zoomTimer"]) this[timer] = clearTimeout(this[timer]);
    if (!this.figure) return;
    Plotly.purge(this.plot);
    this.figure = this.isWatched = undefined;
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

  onResize() {
    const { clientWidth, clientHeight, _fullLayout: { width, height } = {} } = this.plot;
    if (clientWidth && Math.hypot(width - clientWidth, height - clientHeight) > 1) this.change("size");
  }

  /** The element with the figure as JSON. On a page of many charts it is missing until the first refresh. */
  get source() {
    return this.querySelector('script[type="application/json"]');
  }

  /** The axis that this chart shares with others. */
  get axis() {
    return this.figure?.layout.meta?.x;
  }

  get zoom() {
    return sharedZoom(this.axis);
  }

  scheduleDraw() {
    this.needsDraw = true;
    requestTurn(this);
  }

  /** Schedules a change of the drawn plot: its zoom, lines or size. */
  change(what) {
    if (!this.plot._fullLayout) return;
    this.changes.add(what);
    requestTurn(this);
  }

  takeTurn() {
    if (this.needsDraw) return this.draw();
    const changes = this.changes;
    this.changes = new Set();
    const { data } = this.plot;
    if (changes.has("lines")) Plotly.restyle(this.plot, { visible: withHidden(data).map((trace) => trace.visible) });
    if (changes.has("zoom")) Plotly.relayout(this.plot, axisChange(this.zoom, this.figure.layout.xaxis.type, "xaxis."));
    if (changes.has("size")) Plotly.Plots.resize(this.plot);
    if (changes.size) this.readout.show(sharedCursor());
    this.flush();
  }

  /** Draws the JSON figure with the zoom and the hidden lines of the page. */
  draw() {
    this.needsDraw = this.isOldTheme = false;
    this.changes.clear();
    this.figure = JSON.parse(this.source.textContent);
    this.plot.hidden = !this.figure.data.length;
    this.readout.box.hidden = this.plot.hidden || !this.readout.meta.readout;
    if (this.plot.hidden) return;
    const { data, layout } = paint(this.figure);
    if (this.zoom) Object.assign(layout.xaxis, axisChange(this.zoom, layout.xaxis.type));
    if (this.readout.meta.readout) layout.hovermode = false;
    // A finger scrolls the page and reads values; it would otherwise zoom by accident.
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
    Plotly.react(this.plot, withHidden(data), layout, configure(() => this.resetView()));
    this.watchPlot();
    this.makeAccessible();
    this.readout.show(sharedCursor());
    this.dispatchEvent(new CustomEvent("chart-drawn", { bubbles: true }));
    this.fetchZoomed();
    this.scheduleFlush();
  }

  watchPlot() {
    if (this.isWatched) return;
    this.isWatched = true;
    this.plot.on("plotly_relayout", (change) => this.onZoom(change));
    this.plot.on("plotly_doubleclick", () => this.resetView());
  }

  resetView() {
    const { range } = this.figure.layout.yaxis;
    const y = range ? { "yaxis.range": range } : { "yaxis.autorange": true };
    Plotly.relayout(this.plot, { "xaxis.autorange": true, ...y });
  }

  /** Shares the zoom that the user chose on this chart. */
  onZoom(change) {
    const isRange = "xaxis.range[0]" in change || "xaxis.range" in change;
    if (change["xaxis.autorange"]) shareZoom(this.axis, undefined, this.plot);
    else if (isRange) shareZoom(this.axis, zoomOf(this.plot.layout.xaxis), this.plot);
    this.readout.show(sharedCursor());
  }

  onSharedZoom({ axis, source }) {
    if (!this.figure || axis !== this.axis) return;
    if (source !== this.plot) this.change("zoom");
    this.fetchZoomed();
  }

  /** Fetches more points for a zoomed range, once the user has stopped zooming. */
  fetchZoomed() {
    clearTimeout(this.zoomTimer);
    if (!this.figure.layout.meta?.thinned || JSON.stringify(this.zoom) === JSON.stringify(this.figureZoom)) return;
    this.zoomTimer = setTimeout(() => (this.isVisible ? this.refresh(true) : (this.isStale = true)), ZOOM_MS);
  }

  /** Hides the picture from screen readers, which would read loose numbers of its axes: a text and a table describe it. */
  makeAccessible() {
    for (const picture of this.plot.querySelectorAll("svg")) picture.setAttribute("aria-hidden", "true");
    for (const toolbar of this.plot.querySelectorAll("[role=toolbar]")) setTabStop(toolbar);
  }

  onFigure() {
    this.isFetching = false;
    this.figureZoom = this.requestedZoom;
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
    if (this.axis !== "step") return;
    const { x, y, traces, wentBack } = extensions(this.plot.data ?? [], this.newPoints);
    if (wentBack) this.markStale(1);
    if (traces.length) Plotly.extendTraces(this.plot, { x, y }, traces);
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
