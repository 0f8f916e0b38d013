// <row-selection>: counts the selected rows of its form, selects all of them or, with Shift, a range, and restores the
// selection when htmx swaps the table. A selected row that is no longer shown stays selected, as a hidden field of the
// form. The checkboxes and buttons also work without this script.

class RowSelection extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.selectAll = this.querySelector("[data-every]");
    this.output = this.querySelector("output");
    this.selected = new Set();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.selectAll.addEventListener("change", () => this.checkAll(this.selectAll.checked), { signal });
    document.addEventListener("click", (event) => this.onClick(event), { signal });
    document.addEventListener("change", (event) => event.target.form === this.form && this.count(), { signal });
    // Restore at once, before the user can click on a row or a button of the new table.
    document.addEventListener("htmx:afterSwap", () => this.restore(), { signal });
    // When the user goes back, the browser restores the checkboxes after this.
    window.addEventListener("pageshow", () => this.count(), { signal });
    this.count();
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  boxes() {
    return [...document.querySelectorAll(`input[type="checkbox"][form="${this.form.id}"][name="run"]`)];
  }

  /** Selects all shown rows; or none, also of those that are not shown. */
  checkAll(isChecked) {
    if (!isChecked) this.selected.clear();
    for (const box of this.boxes()) box.checked = isChecked;
    this.count();
  }

  /** Sets all rows between the last click and this one, if it is one with Shift, to the state of this one. */
  onClick({ target, shiftKey }) {
    const boxes = this.boxes();
    const end = boxes.indexOf(target);
    if (end < 0) return;
    const start = boxes.findIndex((box) => box.value === this.lastClicked);
    this.lastClicked = target.value;
    if (!shiftKey || start < 0) return;
    for (const box of boxes.slice(Math.min(start, end), Math.max(start, end))) box.checked = target.checked;
    this.count();
  }

  restore() {
    for (const box of this.boxes()) box.checked = this.selected.has(box.value);
    this.count();
  }

  count() {
    const boxes = this.boxes();
    const checked = boxes.filter((box) => box.checked);
    for (const box of boxes) {
      if (box.checked) this.selected.add(box.value);
      else this.selected.delete(box.value);
    }
    const shown = new Set(boxes.map((box) => box.value));
    const hidden = [...this.selected].filter((run) => !shown.has(run));
    this.setHiddenFields(hidden);
    this.selectAll.checked = boxes.length > 0 && checked.length === boxes.length;
    this.selectAll.indeterminate = !this.selectAll.checked && this.selected.size > 0;
    const isAll = this.form.elements.all?.checked;
    this.output.value = isAll ? gettext("All matching runs") : this.describe(hidden.length);
    for (const button of this.form.querySelectorAll("button")) button.disabled = !isAll && this.selected.size === 0;
  }

  setHiddenFields(runs) {
    for (const field of this.form.querySelectorAll("input[type=hidden][name=run]")) field.remove();
    for (const value of runs) this.form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "run", value }));
  }

  describe(hidden) {
    const { size } = this.selected;
    if (!size) return gettext("None selected");
    const message = interpolate(ngettext("%s selected", "%s selected", size), [size]);
    return hidden ? interpolate(gettext("%s, %s of them not shown"), [message, hidden]) : message;
  }
}

customElements.define("row-selection", RowSelection);
