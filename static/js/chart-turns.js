// Charts draw one at a time, and after each the page rests as long as that took: keys and the pointer are answered
// between two charts, however many a page has.

const waiting = new Set();
let resting;

/** Calls the chart's takeTurn once, when those before it have had theirs. */
export function askForTurn(chart) {
  waiting.add(chart);
  resting ??= setTimeout(next);
}

export function giveUpTurn(chart) {
  waiting.delete(chart);
}

function next() {
  const [chart] = waiting;
  waiting.delete(chart);
  const began = performance.now();
  try {
    chart?.takeTurn();
  } finally {
    resting = chart && setTimeout(next, performance.now() - began);
  }
}
