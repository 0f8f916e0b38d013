// <chosen-rows>: counts the ticked rows of the form in it, ticks all of them, and keeps them ticked when htmx swaps the
// table. Without this script the checkboxes and buttons work as they are.

class ChosenRows extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.every = this.querySelector("[data-every]");
    this.output = this.querySelector("output");
    this.chosen = new Set();
    this.watching = new AbortController();
    const { signal } = this.watching;
    this.every.addEventListener("change", () => this.tickAll(this.every.checked), { signal });
    document.addEventListener("change", (event) => event.target.form === this.form && this.count(), { signal });
    document.addEventListener("htmx:afterSettle", () => this.tickAgain(), { signal });
    // A browser that goes back fills the boxes in again after this.
    window.addEventListener("pageshow", () => this.count(), { signal });
    this.count();
  }

  disconnectedCallback() {
    this.watching.abort();
  }

  boxes() {
    return [...document.querySelectorAll(`input[form="${this.form.id}"][name="run"]`)];
  }

  tickAll(ticked) {
    for (const box of this.boxes()) box.checked = ticked;
    this.count();
  }

  tickAgain() {
    for (const box of this.boxes()) box.checked = this.chosen.has(box.value);
    this.count();
  }

  count() {
    const boxes = this.boxes();
    const ticked = boxes.filter((box) => box.checked);
    this.chosen = new Set(ticked.map((box) => box.value));
    const all = this.form.elements.all?.checked;
    this.every.checked = boxes.length > 0 && ticked.length === boxes.length;
    this.every.indeterminate = ticked.length > 0 && ticked.length < boxes.length;
    const some = interpolate(ngettext("%s chosen", "%s chosen", ticked.length), [ticked.length]);
    this.output.value = all ? gettext("All that fit") : ticked.length ? some : gettext("None chosen");
    for (const button of this.form.querySelectorAll("button")) button.disabled = !all && ticked.length === 0;
  }
}

customElements.define("chosen-rows", ChosenRows);
