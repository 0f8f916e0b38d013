// Delays an htmx swap while the user presses a button in its target: a button that is replaced between press and release
// is never clicked. The delayed parts are requested again on release, as they may have changed meanwhile.

const delayed = new Map();

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target, elt, requestConfig } = detail;
  if (requestConfig.verb !== "get" || !target.querySelector(":active")) return;
  detail.shouldSwap = false;
  delayed.set(requestConfig.path, elt);
});

const requestDelayed = () => {
  for (const [path, elt] of delayed) {
    // <request-errors> reports a failure.
    if (elt.isConnected) htmx.ajax("GET", path, { source: elt }).catch(() => undefined);
  }
  delayed.clear();
};

// The click event follows the release and must still find its button, so request the parts after it.
for (const end of ["pointerup", "pointercancel", "keyup"]) window.addEventListener(end, () => delayed.size && setTimeout(requestDelayed));
