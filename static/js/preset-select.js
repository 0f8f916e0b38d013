// <preset-select data-keeps="seeds name">: its select names a preset. When htmx has fetched the form of that preset, its
// values replace those of this form. Unchanged are the fields named by data-keeps, those of a sweep, and every field
// that the user has changed since the selection. The select stays in the page, so fast key presses reach it.

class PresetSelect extends HTMLElement {
  connectedCallback() {
    this.select = this.querySelector("select");
    this.form = this.closest("form");
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.select.addEventListener("change", () => this.onChange(), { signal });
    this.select.addEventListener("htmx:afterRequest", ({ detail }) => this.onReply(detail), { signal });
    this.form.addEventListener("submit", (event) => this.onSubmit(event), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onChange() {
    this.snapshot ??= new Map([...this.form.elements].map((control) => [control.id, stateOf(control)]));
  }

  // A launch between the selection and the reply waits for the values of the preset.
  onSubmit(event) {
    if (!this.snapshot) return;
    event.preventDefault();
    this.isSubmitted = true;
  }

  onReply({ successful, xhr, requestConfig }) {
    const isLatest = requestConfig.parameters.preset === this.select.value;
    if (!isLatest || !this.snapshot) return;
    if (successful) this.fill(new DOMParser().parseFromString(xhr.responseText, "text/html"));
    const isSubmitted = successful && this.isSubmitted;
    this.snapshot = this.isSubmitted = undefined;
    if (isSubmitted) this.form.requestSubmit();
  }

  fill(page) {
    const kept = this.dataset.keeps.split(" ");
    for (const fresh of page.getElementById(this.form.id).elements) {
      const control = fresh.id && document.getElementById(fresh.id);
      const isKept = kept.includes(fresh.name) || fresh.name.startsWith("sweep-") || control === this.select;
      if (!control || isKept || stateOf(control) !== this.snapshot.get(control.id)) continue;
      control.value = fresh.value;
      if ("checked" in control) control.checked = fresh.checked;
    }
    this.querySelector(".hint").replaceWith(page.getElementById(this.querySelector(".hint").id));
    this.form.querySelector(".problem-list")?.remove();
    this.form.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

const stateOf = (control) => (["checkbox", "radio"].includes(control.type) ? control.checked : control.value);

customElements.define("preset-select", PresetSelect);
