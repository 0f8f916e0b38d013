// <lasso-chart data-address>: draws the scatter that lies in it as JSON; what is drawn around becomes the address of the page.

import { paint } from "./chart-paint.js";
import { oneStop } from "./toolbar-keys.js";

const CORNERS = 40;
const CONFIG = {
  responsive: true,
  displaylogo: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["autoScale2d", "sendChartToCloud", "toImage"],
};

/** The corners of what was drawn, as reward and cost: a ring, or a box. */
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
    if (!this.isWatched) this.plot.on("plotly_selected", (event) => event && this.ask(corners(event)));
    this.isWatched = true;
    for (const picture of this.plot.querySelectorAll("svg")) picture.setAttribute("aria-hidden", "true");
    for (const toolbar of this.plot.querySelectorAll("[role=toolbar]")) oneStop(toolbar);
  }

  /** A ring drawn by hand has hundreds of corners: as many are kept as an address can hold. */
  ask(ring) {
    if (ring.length < 3) return;
    const every = Math.ceil(ring.length / CORNERS);
    const kept = ring.length > CORNERS ? ring.filter((_, i) => i % every === 0) : ring;
    const address = new URL(this.dataset.address, location.href);
    address.searchParams.set("lasso", kept.flat().map((value) => Number(value.toPrecision(4))).join(","));
    location.assign(address);
  }
}

customElements.define("lasso-chart", LassoChart);
