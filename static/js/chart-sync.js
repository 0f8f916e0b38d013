// <chart-sync>: shares one cursor and one zoom between its charts, which have the same x axis.

const rangeIn = (change) => {
  const { "xaxis.range": range, "xaxis.range[0]": low, "xaxis.range[1]": high } = change;
  return range ?? (low === undefined ? undefined : [low, high]);
};

class ChartSync extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    this.plots = new Set();
    this.addEventListener("chart-drawn", ({ target }) => this.onDrawn(target.plot), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onDrawn(plot) {
    if (this.plots.has(plot)) return;
    this.plots.add(plot);
    plot.on("plotly_relayout", (change) => this.onZoom(plot, change));
    plot.on("plotly_hover", ({ xvals }) => this.onHover(plot, xvals?.[0]));
    plot.on("plotly_unhover", () => this.onLeave(plot));
    if (this.range) this.zoom(plot);
  }

  /** Returns the other visible charts. Forgets charts that are no longer on the page. */
  others(plot) {
    for (const other of this.plots) if (!other.isConnected) this.plots.delete(other);
    return [...this.plots].filter((other) => other !== plot && other.checkVisibility());
  }

  onZoom(plot, change) {
    const range = change["xaxis.autorange"] ? null : rangeIn(change);
    // Ignore the event that a chart fires for a zoom that was set here.
    if (range === undefined || String(range) === String(this.range ?? null)) return;
    this.range = range;
    for (const other of this.others(plot)) this.zoom(other);
  }

  zoom(plot) {
    Plotly.relayout(plot, this.range ? { "xaxis.range": [...this.range] } : { "xaxis.autorange": true });
  }

  onHover(plot, xval) {
    if (xval === undefined) return;
    for (const other of this.others(plot)) Plotly.Fx.hover(other, { xval }, "xy", true);
  }

  onLeave(plot) {
    if (this.leaving) return;
    this.leaving = true;
    for (const other of this.others(plot)) Plotly.Fx.unhover(other, {}, "xy");
    this.leaving = false;
  }
}

customElements.define("chart-sync", ChartSync);
