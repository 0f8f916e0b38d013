// Points that arrived since a chart's figure was fetched, and what of them the lines on screen still lack.

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

/** Returns the points to add as {x, y, traces}, lists of one length, and whether the steps of a new message went back. */
export function extensions(traces, messages) {
  const added = new Map();
  let wentBack = false;
  for (const points of messages) {
    const i = traces.findIndex(({ meta }) => meta?.run === points.run && meta?.key === points.key);
    if (i < 0) continue;
    const line = added.get(i) ?? { x: [], y: [], last: traces[i].x.at(-1) ?? -Infinity };
    if (!append(line, points) && !points.seen) wentBack = true;
    points.seen = true;
    if (line.x.length) added.set(i, line);
  }
  const lines = [...added.values()];
  return { x: lines.map((line) => line.x), y: lines.map((line) => line.y), traces: [...added.keys()], wentBack };
}
