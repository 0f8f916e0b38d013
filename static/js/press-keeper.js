// Holds back what htmx would put under a press: a button that is replaced between press and release is never clicked.
// What was held is asked for again on release, as it may have changed meanwhile.

const held = new Map();

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target, elt, requestConfig } = detail;
  if (requestConfig.verb !== "get" || !target.querySelector(":active")) return;
  detail.shouldSwap = false;
  held.set(requestConfig.path, elt);
});

const release = () => {
  for (const [path, elt] of held) if (elt.isConnected) htmx.ajax("GET", path, { source: elt });
  held.clear();
};

// A click follows its release: it is to find what was pressed.
for (const end of ["pointerup", "pointercancel", "keyup"]) window.addEventListener(end, () => held.size && setTimeout(release));
