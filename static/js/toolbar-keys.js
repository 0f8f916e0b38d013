// The keys of a toolbar, as its role promises: one stop for Tab, arrows inside (ARIA Authoring Practices, Toolbar).

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Makes the buttons of a toolbar one stop. To be called again where they may have been made anew. */
export function oneStop(toolbar) {
  const buttons = [...toolbar.querySelectorAll("button")];
  const focused = buttons.indexOf(document.activeElement);
  const here = focused >= 0 ? focused : Math.max(0, buttons.findIndex((button) => button.dataset.stop));
  buttons.forEach((button, n) => (n === here ? (button.dataset.stop = "1") : delete button.dataset.stop));
  buttons.forEach((button, n) => (button.tabIndex = n === here ? 0 : -1));
  toolbar.onkeydown = (event) => walk(toolbar, event);
}

function walk(toolbar, event) {
  const buttons = [...toolbar.querySelectorAll("button")];
  const ends = { Home: 0, End: buttons.length - 1 };
  const next = ends[event.key] ?? buttons.indexOf(event.target) + (STEPS[event.key] ?? NaN);
  if (Number.isNaN(next)) return;
  event.preventDefault();
  buttons.at(next % buttons.length).focus();
  oneStop(toolbar);
}
