// State that scripts keep in the page's address, such as the zoom (from, to), the hidden lines (hide), the smoothing
// (smooth) and the metric of a sweep. Links and forms of this page, the Share link and a saved view carry it, so that
// whoever opens them sees the same page. A link lists in data-sets the parameters that are its own choice.

const ZOOM = ["from", "to"];
const managed = new Set([...ZOOM, "hide", "smooth"]);
const atLoad = new URL(location.href).searchParams;
const carried = new WeakMap();

const ownParameters = () => new URL(location.href).searchParams;
const axisOf = (parameters) => parameters.get("x") || "step";

/** Returns a parameter of the page's address, or null. */
export function parameter(name) {
  return ownParameters().get(name);
}

/** Returns the x axis of the page. */
export function pageAxis() {
  return axisOf(ownParameters());
}

/** Sets parameters of the page's address without a request. A value of undefined removes its parameter. */
export function setParameters(values) {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    managed.add(name);
    if (value === undefined) address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
  if (address.href !== location.href) history.replaceState(history.state, "", address);
}

/** Updates the managed parameters of an address (URLSearchParams or FormData): those that scripts set. A parameter that
 * differs from the page's as loaded, or is one of `fixed`, is a choice of the link or form itself and stays. A zoom
 * belongs to one x axis, so it never goes to another. */
function carryState(parameters, fixed = []) {
  const current = ownParameters();
  const isSameAxis = axisOf(parameters) === axisOf(current);
  for (const name of managed) {
    if (ZOOM.includes(name) && !isSameAxis) parameters.delete(name);
    else if (fixed.includes(name) || parameters.get(name) !== atLoad.get(name)) continue;
    else if (current.has(name)) parameters.set(name, current.get(name));
    else parameters.delete(name);
  }
}

/** Returns whether a link shows this page with parameters, `?` alone too, or shares it. */
function isOfPage({ origin, pathname, href }) {
  const isSamePage = origin === location.origin && pathname === location.pathname;
  return (isSamePage && href.includes("?")) || pathname.endsWith("/share/");
}

/** Updates a link just before it is used: also before it is opened in a new tab or copied. */
function onLink({ target }) {
  const link = target.closest?.("a[href]");
  if (!link) return;
  const before = carried.get(link);
  const original = before?.href === link.href ? before.original : link.href;
  const address = new URL(original);
  if (!isOfPage(address)) return;
  carryState(address.searchParams, link.dataset.sets?.split(" "));
  if (address.href !== link.href) link.href = address;
  carried.set(link, { original, href: link.href });
}

for (const type of ["pointerdown", "focusin", "click"]) document.addEventListener(type, onLink, { capture: true });

document.addEventListener("formdata", ({ target: form, formData }) => {
  if (form.closest(".save-view")) {
    const query = new URLSearchParams(formData.get("query"));
    carryState(query);
    formData.set("query", query);
  }
  const address = new URL(form.getAttribute("action") || location.href, location.href);
  if (form.method === "get" && address.pathname === location.pathname) carryState(formData);
});
