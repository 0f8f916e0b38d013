// <field-problems for="id">: what is wrong with a field, said while it is filled in. Ties what comes in by htmx to the
// field, for screen readers too, and opens what the field is folded away in.

class FieldProblems extends HTMLElement {
  connectedCallback() {
    this.watcher = new MutationObserver(() => this.tell());
    this.watcher.observe(this, { childList: true });
  }

  disconnectedCallback() {
    this.watcher.disconnect();
  }

  tell() {
    const field = document.getElementById(this.getAttribute("for"));
    const said = this.querySelector(".errors");
    if (!field) return;
    field.toggleAttribute("aria-invalid", Boolean(said));
    if (!said) return field.removeAttribute("aria-errormessage");
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-errormessage", said.id);
    for (let folded = this.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
  }
}

customElements.define("field-problems", FieldProblems);
