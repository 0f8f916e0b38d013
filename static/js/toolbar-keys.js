// Keyboard use of a toolbar: one Tab stop, arrow keys inside (ARIA Authoring Practices, Toolbar).

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Makes the buttons of a toolbar one Tab stop. Call it again after the buttons may have been recreated. */
export function setTabStop(toolbar) {
  const buttons = [...toolbar.querySelectorAll("button")];
  const focused = buttons.indexOf(document.activeElement);
  const current = focused >= 0 ? focused : Math.max(0, buttons.findIndex((button) => button.dataset.stop));
  buttons.forEach((button, n) => (n === current ? (button.dataset.stop = "1") : delete button.dataset.stop));
  buttons.forEach((button, n) => (button.tabIndex = n === current ? 0 : -1));
  toolbar.onkeydown = (event) => moveFocus(toolbar, event);
}

function moveFocus(toolbar, event) {
  const buttons = [...toolbar.querySelectorAll("button")];
  const ends = { Home: 0, End: buttons.length - 1 };
  const next = ends[event.key] ?? buttons.indexOf(event.target) + (STEPS[event.key] ?? NaN);
  if (Number.isNaN(next)) return;
  event.preventDefault();
  buttons.at(next % buttons.length).focus();
  setTabStop(toolbar);
}
