// The cards of a page's chart layout, and where they are stored: for the user, or in the address of the page if that sets
// them, so that a link or a saved view never changes a user's own layout.

import { formatCard, parseCard } from "./chart-cards.js";

const PARAMETER = "charts";
const SAVE_MS = 400;
const READABLE = { "%3A": ":", "%2C": ",", "%2F": "/", "%7E": "~" };

let latest;

/** Returns the store of a page. `bar` is the element of includes/add_chart.html; `report` is called with a problem, or with
 * an empty text. If htmx replaced the element, the store stays: the server may have rendered it before the last change. */
export function layoutStore(bar, report) {
  latest ??= new LayoutStore(bar);
  return Object.assign(latest, { bar, report });
}

class LayoutStore {
  constructor(bar) {
    this.cards = new Map(JSON.parse(bar.dataset.cards).map(parseCard));
    this.isInAddress = bar.hasAttribute("data-is-from-address");
    this.saving = Promise.resolve();
  }

  get texts() {
    return [...this.cards].map(([code, card]) => formatCard(code, card)).filter(Boolean);
  }

  get isPending() {
    return this.timer !== undefined;
  }

  /** Stores the cards: soon, as more changes may follow, or in the address at once. */
  save() {
    clearTimeout(this.timer);
    if (this.isInAddress) history.replaceState(history.state, "", this.withCards(new URL(location.href)));
    else this.timer = setTimeout(() => this.flush(), SAVE_MS);
  }

  /** Stores cards that are not stored yet. Requests follow each other, so that the last change wins. */
  flush() {
    if (!this.isPending) return this.saving;
    clearTimeout(this.timer);
    this.timer = undefined;
    const { page, experiment, csrfmiddlewaretoken: token } = this.bar.querySelector("form").elements;
    const body = new URLSearchParams({ page: page.value, experiment: experiment?.value ?? "" });
    for (const text of this.texts) body.append(PARAMETER, text);
    const options = { method: "POST", body, headers: { "x-csrftoken": token.value }, keepalive: true };
    this.saving = this.saving.then(() => this.post(options));
    return this.saving;
  }

  async post(options) {
    try {
      const response = await fetch(this.bar.dataset.url, options);
      const isProblem = response.status === 400;
      this.report(response.ok ? "" : isProblem ? await response.text() : `${response.status} ${response.statusText}`);
    } catch {
      this.report(gettext("The server does not respond. The next change tries again."));
    }
  }

  /** Writes the cards into parameters (URLSearchParams or FormData). An empty value selects the default layout. */
  setCards(parameters) {
    parameters.delete(PARAMETER);
    for (const text of this.texts.length ? this.texts : [""]) parameters.append(PARAMETER, text);
  }

  /** Returns an address with the cards, in which their separators stay readable. */
  withCards(address) {
    this.setCards(address.searchParams);
    address.search = address.search.replace(/%3A|%2C|%2F|%7E/g, (code) => READABLE[code]);
    return address.href;
  }

  /** Returns an address of this site as it was, or with the present cards if it has older ones. */
  carry(href) {
    const address = new URL(href, location.href);
    const isStale = this.isInAddress && address.origin === location.origin && address.searchParams.has(PARAMETER);
    return isStale ? this.withCards(address) : href;
  }

  onLink({ target }) {
    const link = target.closest?.("a[href]");
    const href = link && this.carry(link.href);
    if (link && href !== link.href) link.href = href;
  }

  onFormData({ target: form, formData }) {
    if (form.closest(".save-view")) {
      const query = new URLSearchParams(formData.get("query"));
      this.setCards(query);
      formData.set("query", query);
    } else if (this.bar.contains(form)) {
      formData.set("next", location.pathname + location.search);
      if (form.dataset.when === "address") this.setCards(formData);
    } else if (form.method === "get" && this.isInAddress && formData.has(PARAMETER)) this.setCards(formData);
  }

  /** Shows the actions that apply now: to reset the user's layout, or to save that of the address. */
  showActions() {
    for (const form of this.bar.querySelectorAll("[data-when]")) {
      const applies = form.dataset.when === (this.isInAddress ? "address" : "own");
      form.hidden = !applies || (!this.isInAddress && !this.texts.length);
    }
  }

  /** Keeps links, forms and requests of the page up to date until `signal` is aborted. */
  listen(signal) {
    document.addEventListener("formdata", (event) => this.onFormData(event), { signal });
    document.addEventListener("click", (event) => this.onLink(event), { signal, capture: true });
    document.addEventListener("htmx:configRequest", ({ detail }) => (detail.path = this.carry(detail.path)), { signal });
    window.addEventListener("pagehide", () => this.flush(), { signal });
  }
}
