// Keeps the reader's place when htmx swaps the part of the page that holds the focus: it goes to what stands there now
// under the same id or with the same words, else to the part itself. htmx alone knows only of ids.

const words = (element) => (element.getAttribute("aria-label") ?? element.textContent).trim();

let lost;

document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  const focus = document.activeElement;
  const isInside = focus && focus !== target && target.contains(focus);
  lost = isInside ? { target, id: focus.id, tag: focus.localName, words: words(focus) } : undefined;
});

// At once, not when it has settled: whoever presses Tab meanwhile would start at the top of the page.
document.addEventListener("htmx:afterSwap", () => {
  if (!lost) return;
  const { target, id, tag, words: said } = lost;
  lost = undefined;
  if (document.activeElement !== document.body) return;
  const place = target.isConnected ? target : (document.getElementById(target.id) ?? document.getElementById("main"));
  const alike = [...place.querySelectorAll(tag)].find((element) => words(element) === said);
  const successor = (id && document.getElementById(id)) || alike;
  if (!successor && !place.hasAttribute("tabindex")) place.setAttribute("tabindex", "-1");
  (successor ?? place).focus({ preventScroll: true });
});
