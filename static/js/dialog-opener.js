// <dialog-opener for="id">: its button opens a <dialog>, by `command` and `commandfor` before this script has come, by it
// where the browser does not know these. Focus goes in and, on closing, comes back by itself, or to the button that
// stands in its place where the page was refreshed meanwhile.

const opensByItself = "command" in HTMLButtonElement.prototype;

class DialogOpener extends HTMLElement {
  connectedCallback() {
    const dialog = document.getElementById(this.getAttribute("for"));
    const button = this.querySelector("button");
    button.addEventListener("click", () => {
      if (!opensByItself) dialog.showModal();
      dialog.addEventListener("close", () => button.isConnected || this.successor()?.focus(), { once: true });
    });
    // A form that came back with errors is shown where it was filled in.
    if (dialog.querySelector("[aria-invalid='true']")) dialog.showModal();
  }

  successor() {
    return document.querySelector(`dialog-opener[for="${this.getAttribute("for")}"] button`);
  }
}

customElements.define("dialog-opener", DialogOpener);
