// <copy-button for="id">: copies the text of another element and confirms it on the button.

const CONFIRMATION_MS = 2000;

class CopyButton extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.label = this.button.textContent;
    this.button.addEventListener("click", () => this.copy());
  }

  async copy() {
    const source = document.getElementById(this.getAttribute("for"));
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      this.confirm(gettext("Copied"));
    } catch {
      getSelection().selectAllChildren(source);
      this.confirm(gettext("Selected: press Ctrl+C"));
    }
  }

  confirm(message) {
    this.button.textContent = message;
    setTimeout(() => (this.button.textContent = this.label), CONFIRMATION_MS);
  }
}

customElements.define("copy-button", CopyButton);
