// <form-search for="id">: its input hides the fields of that form that do not contain every typed word, opens the folded
// parts around the others, and counts them. Hidden fields keep their values and are sent. Escape clears it.

const ITEMS = ".field, .optional, .sweep-fields";
const GROUPS = ".panel, .panel details";
const UNMATCHED = "data-unmatched";

class FormSearch extends HTMLElement {
  connectedCallback() {
    this.form = document.getElementById(this.getAttribute("for"));
    this.input = this.querySelector("input");
    this.status = this.querySelector("[role=status]");
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.input.addEventListener("input", () => this.show(), { signal });
    this.input.addEventListener("keydown", (event) => this.onKey(event), { signal });
    // Another method or task shows other fields.
    this.form.addEventListener("change", () => this.wasOpen && this.show(), { signal });
    if (this.input.value) this.show();
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onKey(event) {
    const actions = { Enter: () => this.focusFirst(), Escape: () => this.clear() };
    if (!actions[event.key]) return;
    // Enter would otherwise submit the form of the field that has the focus then.
    event.preventDefault();
    actions[event.key]();
  }

  outermost(selector) {
    return [...this.form.querySelectorAll(selector)].filter((element) => !element.parentElement.closest(ITEMS));
  }

  show() {
    const patterns = this.input.value.split(/\s+/).filter(Boolean).map(startOfWord);
    const isSearching = patterns.length > 0;
    const [items, groups] = [this.outermost(ITEMS), this.outermost(GROUPS)];
    const matches = items.filter((item) => patterns.every((pattern) => pattern.test(textOf(item))));
    this.rememberFolds(isSearching);
    this.form.toggleAttribute("data-searching", isSearching);
    for (const element of [...groups, ...items]) element.removeAttribute(UNMATCHED);
    for (const group of isSearching ? groups : []) {
      if (group.open === false) group.open = matches.some((item) => group.contains(item));
    }
    // Only now is it known which fields the selected method and task have.
    this.shown = matches.filter((item) => item.checkVisibility());
    for (const item of items) item.toggleAttribute(UNMATCHED, !matches.includes(item));
    for (const group of groups) this.hideUnmatched(group, isSearching);
    this.status.textContent = isSearching ? this.count(matches.length - this.shown.length) : "";
  }

  hideUnmatched(group, isSearching) {
    const isHidden = isSearching && !this.shown.some((item) => group.contains(item));
    group.toggleAttribute(UNMATCHED, isHidden);
    const link = group.id && this.parentElement.querySelector(`a[href="#${group.id}"]`);
    if (link) link.toggleAttribute(UNMATCHED, isHidden);
  }

  rememberFolds(isSearching) {
    const folds = this.form.querySelectorAll(".panel details");
    if (isSearching) return (this.wasOpen ??= new Map([...folds].map((fold) => [fold, fold.open])));
    for (const [fold, wasOpen] of this.wasOpen ?? []) fold.open = wasOpen || Boolean(fold.querySelector(".errors"));
    this.wasOpen = undefined;
  }

  count(others) {
    const shown = this.shown.length;
    const text = interpolate(ngettext("%s match", "%s matches", shown), [shown]);
    const more = ngettext("%s more in another method or task", "%s more in other methods or tasks", others);
    return others ? `${text}. ${interpolate(more, [others])}` : text;
  }

  clear() {
    this.input.value = "";
    this.show();
  }

  focusFirst() {
    this.shown?.[0]?.querySelector("input, select, textarea")?.focus();
  }
}

function textOf(item) {
  const section = item.closest(".panel").querySelector("h2, legend")?.textContent;
  const parts = item.matches("[data-find]") ? [item] : [...item.querySelectorAll("[data-find]")];
  const texts = parts.map((part) => part.dataset.find);
  const labels = [...item.querySelectorAll("label, legend")].map((label) => label.textContent);
  return [section, ...texts, ...labels].join(" ");
}

function startOfWord(word) {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\p{L}\\p{N}])${escaped}`, "iu");
}

customElements.define("form-search", FormSearch);
