// Restores the focus when htmx swaps the part of the page that has it. The focus moves to the new element with the same
// id or the same label, or else to the part itself. htmx alone compares only ids.

const labelOf = (element) => (element.getAttribute("aria-label") ?? element.textContent).trim();

let lost;

document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  const focus = document.activeElement;
  const isInside = focus && focus !== target && target.contains(focus);
  lost = isInside ? { target, id: focus.id, tag: focus.localName, label: labelOf(focus) } : undefined;
});

// Restore it before htmx settles: until then, Tab would start at the top of the page.
document.addEventListener("htmx:afterSwap", () => {
  if (!lost) return;
  const { target, id, tag, label } = lost;
  lost = undefined;
  if (document.activeElement !== document.body) return;
  const part = target.isConnected ? target : (document.getElementById(target.id) ?? document.getElementById("main"));
  const match = [...part.querySelectorAll(tag)].find((element) => labelOf(element) === label);
  const successor = (id && document.getElementById(id)) || match;
  if (!successor && !part.hasAttribute("tabindex")) part.setAttribute("tabindex", "-1");
  (successor ?? part).focus({ preventScroll: true });
});
