// <dialog-opener for="id">: its button opens a <dialog>. Browsers that support `command` and `commandfor` need no script
// for this; the others use this one. On closing, the browser returns the focus to the button. If htmx has replaced the
// button meanwhile, the new button gets the focus.

const supportsCommand = "command" in HTMLButtonElement.prototype;

class DialogOpener extends HTMLElement {
  connectedCallback() {
    const dialog = document.getElementById(this.getAttribute("for"));
    const button = this.querySelector("button");
    button.addEventListener("click", () => {
      if (!supportsCommand) dialog.showModal();
      dialog.addEventListener("close", () => button.isConnected || this.successor()?.focus(), { once: true });
    });
    // Open the dialog again if the server returned its form with errors.
    if (dialog.querySelector("[aria-invalid='true']")) dialog.showModal();
  }

  successor() {
    return document.querySelector(`dialog-opener[for="${this.getAttribute("for")}"] button`);
  }
}

customElements.define("dialog-opener", DialogOpener);
