// <lasso-chart data-address>: draws the scatter chart that it contains as JSON. The user's selection becomes a parameter of
// the page's address.

import { paint } from "./chart-paint.js";
import { setTabStop } from "./toolbar-keys.js";

const MAX_CORNERS = 40;
const CONFIG = {
  responsive: true,
  displaylogo: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["autoScale2d", "sendChartToCloud", "toImage"],
};

/** Returns the corners of the selection as [reward, cost]: of a lasso, or of a box. */
function corners({ lassoPoints, range }) {
  if (lassoPoints) return lassoPoints.x.map((x, i) => [x, lassoPoints.y[i]]);
  if (!range) return [];
  const [[x0, x1], [y0, y1]] = [range.x, range.y];
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
}

class LassoChart extends HTMLElement {
  connectedCallback() {
    this.plot = this.querySelector(".plot");
    this.stop = new AbortController();
    document.addEventListener("theme-changed", () => this.draw(), { signal: this.stop.signal });
    this.draw();
  }

  disconnectedCallback() {
    this.stop.abort();
    Plotly.purge(this.plot);
  }

  draw() {
    const { data, layout } = paint(JSON.parse(this.querySelector('script[type="application/json"]').textContent));
    Plotly.react(this.plot, data, layout, CONFIG);
    if (!this.isListening) this.plot.on("plotly_selected", (event) => event && this.select(corners(event)));
    this.isListening = true;
    for (const picture of this.plot.querySelectorAll("svg")) picture.setAttribute("aria-hidden", "true");
    for (const toolbar of this.plot.querySelectorAll("[role=toolbar]")) setTabStop(toolbar);
  }

  /** Opens the page for this selection. A lasso has hundreds of corners, so it is thinned to fit into the address. */
  select(ring) {
    if (ring.length < 3) return;
    const every = Math.ceil(ring.length / MAX_CORNERS);
    const thinned = ring.length > MAX_CORNERS ? ring.filter((_, i) => i % every === 0) : ring;
    const address = new URL(this.dataset.address, location.href);
    address.searchParams.set("lasso", thinned.flat().map((value) => Number(value.toPrecision(4))).join(","));
    location.assign(address);
  }
}

customElements.define("lasso-chart", LassoChart);
