// <dialog-opener for="id">: its button opens a <dialog>. Focus goes in and, on closing, comes back by itself.

class DialogOpener extends HTMLElement {
  connectedCallback() {
    const dialog = document.getElementById(this.getAttribute("for"));
    this.querySelector("button").addEventListener("click", () => dialog.showModal());
    // A form that came back with errors is shown where it was filled in.
    if (dialog.querySelector("[aria-invalid='true']")) dialog.showModal();
  }
}

customElements.define("dialog-opener", DialogOpener);
