// Adds the zoom and the smoothing of the page to what a chart requests: its figure, its table and its CSV.

import { pageAxis, parameter } from "./address-state.js";
import { sharedZoom } from "./chart-sync.js";

const EVENTS = ["pointerdown", "focusin", "click"];

/** Returns the zoom to request. Before its first figure, a chart is taken to have the page's axis. */
const zoomToRequest = (chart) => (chart.figure ? chart.zoom : sharedZoom(pageAxis()));

function withState(address, chart) {
  const out = new URL(address, location.href);
  const zoom = zoomToRequest(chart);
  const values = { from: zoom?.from, to: zoom?.to, smooth: parameter("smooth") };
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null) out.searchParams.delete(name);
    else out.searchParams.set(name, value);
  }
  return out;
}

/** Watches the requests and download links in a chart's section. */
export function carryChartState(section, chart, signal) {
  const onRequest = ({ detail }) => {
    if (detail.verb !== "get") return;
    const { pathname, search } = withState(detail.path, chart);
    detail.path = pathname + search;
    if (chart.contains(detail.elt)) chart.requestedZoom = zoomToRequest(chart);
  };
  const onLink = ({ target }) => {
    const link = target.closest?.("a[download]");
    if (link && !link.href.startsWith("blob:")) link.href = withState(link.href, chart);
  };
  section.addEventListener("htmx:configRequest", onRequest, { signal });
  for (const type of EVENTS) section.addEventListener(type, onLink, { signal, capture: true });
}
