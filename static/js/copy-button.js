// <copy-button for="id">: copies the text of another element and says so.

const SAY_MS = 2000;

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
      this.say(gettext("Copied"));
    } catch {
      getSelection().selectAllChildren(source);
      this.say(gettext("Selected: press Ctrl+C"));
    }
  }

  say(words) {
    this.button.textContent = words;
    setTimeout(() => (this.button.textContent = this.label), SAY_MS);
  }
}

customElements.define("copy-button", CopyButton);
