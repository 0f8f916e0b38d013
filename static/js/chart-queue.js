// Charts draw one at a time. After each chart the page pauses as long as the drawing took, so that it handles keys and
// the pointer between two charts, whatever their number.

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
  const [chart] = waiting;
  waiting.delete(chart);
  const startedAt = performance.now();
  try {
    chart?.takeTurn();
  } finally {
    timer = chart && setTimeout(next, performance.now() - startedAt);
  }
}
