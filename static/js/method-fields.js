// <method-fields>: contains a form with a choice of method and task. Elements with data-methods or data-tasks, in which
// the selected one is not named, are hidden. The server hides them for its first selection.

class MethodFields extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    // The capture phase is before the search in the form, which counts the visible fields.
    this.addEventListener("input", () => this.show(), { signal, capture: true });
    // A browser restores the selection of a page to which the reader returns.
    window.addEventListener("pageshow", () => this.show(), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  show() {
    const { elements } = this.querySelector("form");
    this.hideOthers("data-methods", elements.method.value);
    this.hideOthers("data-tasks", elements["task.name"].value);
  }

  hideOthers(attribute, selected) {
    for (const element of this.querySelectorAll(`[${attribute}]`)) {
      element.hidden = selected !== "" && !element.matches(`[${attribute}~="${selected}"]`);
    }
  }
}

customElements.define("method-fields", MethodFields);
