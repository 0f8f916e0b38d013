// Charts draw one at a time: the new ones first, from the top of the viewport down, then those that change, in the order
// of their requests. After each chart the page pauses as long as the drawing took, so that it handles keys and the
// pointer between two charts, whatever their number.

const waiting = new Set();
let timer;

/** Calls the chart's takeTurn once, after the charts that are already in the queue. */
export function requestTurn(chart) {
  waiting.add(chart);
  timer ??= setTimeout(next);
}

export function cancelTurn(chart) {
  waiting.delete(chart);
}

function next() {
  const chart = firstNewChart() ?? [...waiting][0];
  waiting.delete(chart);
  const startedAt = performance.now();
  try {
    chart?.takeTurn();
  } finally {
    timer = chart && setTimeout(next, performance.now() - startedAt);
  }
}

/** Returns the chart without a picture that a reader sees first. Those that are outside the viewport follow. */
function firstNewChart() {
  const places = [...waiting].filter((chart) => !chart.figure).map((chart) => ({ chart, ...placeOf(chart) }));
  places.sort((a, b) => a.isOutside - b.isOutside || a.top - b.top || a.left - b.left);
  return places[0]?.chart;
}

function placeOf(chart) {
  const { top, left, bottom } = chart.getBoundingClientRect();
  return { isOutside: bottom <= 0 || top >= innerHeight, top, left };
}
