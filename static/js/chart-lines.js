// The lines that are hidden on all charts of the page: legendgroups, in the page's address as hide=es-0,grpo-1. Hiding
// changes no number: the server never reads it. Event on document: `chart-lines`.

import { parameter, setParameters } from "./address-state.js";

/** Returns the legendgroups of the hidden lines. */
export function hiddenLines() {
  return new Set((parameter("hide") ?? "").split(",").filter(Boolean));
}

/** Sets the hidden lines of all charts. */
export function hideLines(lines) {
  setParameters({ hide: [...lines].join(",") || undefined });
  document.dispatchEvent(new CustomEvent("chart-lines"));
}

/** Returns the traces with `visible` set for the hidden lines. Lines that Plotly's own legend hides stay hidden. */
export function withHidden(traces) {
  const hidden = hiddenLines();
  return traces.map((trace) => ({ ...trace, visible: hidden.has(trace.legendgroup) ? false : trace.visible || true }));
}
