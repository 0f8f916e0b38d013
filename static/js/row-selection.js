// <row-selection>: counts the selected rows of its form, selects all of them, and restores the selection when htmx swaps
// the table. The checkboxes and buttons also work without this script.

class RowSelection extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.selectAll = this.querySelector("[data-every]");
    this.output = this.querySelector("output");
    this.selected = new Set();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.selectAll.addEventListener("change", () => this.checkAll(this.selectAll.checked), { signal });
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
    return [...document.querySelectorAll(`input[form="${this.form.id}"][name="run"]`)];
  }

  checkAll(isChecked) {
    for (const box of this.boxes()) box.checked = isChecked;
    this.count();
  }

  restore() {
    for (const box of this.boxes()) box.checked = this.selected.has(box.value);
    this.count();
  }

  count() {
    const boxes = this.boxes();
    const checked = boxes.filter((box) => box.checked);
    this.selected = new Set(checked.map((box) => box.value));
    const all = this.form.elements.all?.checked;
    this.selectAll.checked = boxes.length > 0 && checked.length === boxes.length;
    this.selectAll.indeterminate = checked.length > 0 && checked.length < boxes.length;
    const some = interpolate(ngettext("%s selected", "%s selected", checked.length), [checked.length]);
    this.output.value = all ? gettext("All matching runs") : checked.length ? some : gettext("None selected");
    for (const button of this.form.querySelectorAll("button")) button.disabled = !all && checked.length === 0;
  }
}

customElements.define("row-selection", RowSelection);
