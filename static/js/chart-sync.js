// <chart-sync>: one cursor and one zoom for all charts in it, which run along the same x axis.

const rangeIn = (change) => {
  const { "xaxis.range": whole, "xaxis.range[0]": low, "xaxis.range[1]": high } = change;
  return whole ?? (low === undefined ? undefined : [low, high]);
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

  /** The charts beside one that are there to follow it. */
  others(plot) {
    for (const one of this.plots) if (!one.isConnected) this.plots.delete(one);
    return [...this.plots].filter((one) => one !== plot && one.checkVisibility());
  }

  onZoom(plot, change) {
    const range = change["xaxis.autorange"] ? null : rangeIn(change);
    // What a chart says of a zoom that it was given here is no news.
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
