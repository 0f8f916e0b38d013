// Paints a figure with the tokens of the page's theme. A trace names its token, or its own colour #rrggbb, in meta.colour.

import { utcText } from "./chart-numbers.js";

const GREY_TOKENS = ["ink", "ink-2", "line", "grid", "surface-2"];

/** Returns colours as rgb, by their names: tokens, whose own value may still be light-dark(…), or #rrggbb. `scheme`, light
 * or dark, overrides the page's. */
export function readTokens(names, scheme = "") {
  const probe = document.body.appendChild(document.createElement("span"));
  probe.style.colorScheme = scheme;
  const read = (name) => {
    probe.style.color = name.startsWith("#") ? name : `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const tokens = Object.fromEntries([...new Set([...names, ...GREY_TOKENS])].map((name) => [name, read(name)]));
  probe.remove();
  return tokens;
}

const fade = (colour, alpha) => colour.replace(/rgba?\(([^,]+), ([^,]+), ([^,)]+).*\)/, `rgba($1, $2, $3, ${alpha})`);

/** Returns the figure in colours of the page's theme, or of `scheme`, and with times as UTC. */
export function paint({ data, layout }, scheme) {
  const tokens = readTokens(data.map((trace) => trace.meta?.colour).filter(Boolean), scheme);
  const traces = layout.xaxis?.type === "date" ? data.map(withUtc) : data;
  return { data: traces.map((trace) => paintTrace(trace, tokens)), layout: paintLayout(layout, tokens) };
}

/** Returns the trace with its times, milliseconds since 1970, as text: Plotly would show numbers in the browser's zone. */
function withUtc(trace) {
  const text = (ms) => (typeof ms === "number" ? (utcText(ms) ?? null) : ms);
  return { ...trace, x: trace.x?.map(text) };
}

function paintTrace(trace, tokens) {
  if (!trace.meta?.colour) return trace;
  const { colour: name, alpha = 1 } = trace.meta;
  const colour = fade(tokens[name], alpha);
  return {
    ...trace,
    line: { ...trace.line, color: trace.fill ? fade(tokens[name], 0) : colour },
    marker: { ...trace.marker, color: colour },
    ...(trace.fill && { fillcolor: colour }),
  };
}

function paintLayout(layout, tokens) {
  const axis = (own) => ({ ...own, gridcolor: tokens.grid, linecolor: tokens.line, tickcolor: tokens.line });
  return {
    ...layout,
    font: { color: tokens["ink-2"], family: getComputedStyle(document.body).fontFamily, size: 11 },
    hoverlabel: { bgcolor: tokens["surface-2"], bordercolor: tokens.line, font: { color: tokens.ink, size: 12 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: tokens["ink-2"], activecolor: tokens.ink },
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
  };
}
