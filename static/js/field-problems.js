// <field-problems for="id">: errors of a field, fetched by htmx while the user fills it in. Marks the field as invalid,
// links the error to it for screen readers, and opens every <details> around it.

class FieldProblems extends HTMLElement {
  connectedCallback() {
    this.watcher = new MutationObserver(() => this.update());
    this.watcher.observe(this, { childList: true });
  }

  disconnectedCallback() {
    this.watcher.disconnect();
  }

  update() {
    const field = document.getElementById(this.getAttribute("for"));
    const errors = this.querySelector(".errors");
    if (!field) return;
    field.toggleAttribute("aria-invalid", Boolean(errors));
    if (!errors) return field.removeAttribute("aria-errormessage");
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-errormessage", errors.id);
    for (let box = this.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  }
}

customElements.define("field-problems", FieldProblems);
