// Paints a figure with the tokens of the page's theme. A trace names its token in meta.colour.

const GREY_TOKENS = ["ink", "ink-2", "line", "grid", "surface-2"];

/** Returns the tokens' colours as rgb. A custom property's own value may still be light-dark(…). */
export function readTokens(names) {
  const probe = document.body.appendChild(document.createElement("span"));
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const tokens = Object.fromEntries([...new Set([...names, ...GREY_TOKENS])].map((name) => [name, read(name)]));
  probe.remove();
  return tokens;
}

const fade = (colour, alpha) => colour.replace(/rgba?\(([^,]+), ([^,]+), ([^,)]+).*\)/, `rgba($1, $2, $3, ${alpha})`);

export function paint({ data, layout }) {
  const tokens = readTokens(data.map((trace) => trace.meta?.colour).filter(Boolean));
  return { data: data.map((trace) => paintTrace(trace, tokens)), layout: paintLayout(layout, tokens) };
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
