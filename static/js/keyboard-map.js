// <keyboard-map>: "?" lists the shortcuts, "/" focuses the page's search, "g" opens the palette. Its checkbox switches
// single-key shortcuts off, and the browser remembers that. They are ignored while the user types.

const OFF = "single-keys-off";
const TYPING = "input, textarea, select, [contenteditable]";

class KeyboardMap extends HTMLElement {
  connectedCallback() {
    this.dialog = this.querySelector("dialog");
    this.box = this.querySelector("input[type=checkbox]");
    this.box.checked = !localStorage.getItem(OFF);
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.box.addEventListener("change", () => this.remember(), { signal });
    this.querySelector("button").addEventListener("click", () => this.dialog.showModal(), { signal });
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  remember() {
    if (this.box.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  }

  onKey(event) {
    const isTyping = event.target.matches?.(TYPING) || document.querySelector("dialog[open]");
    if (isTyping || !this.box.checked || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = { "?": () => this.dialog.showModal(), "/": () => this.focusSearch(), g: () => this.openPalette() };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  focusSearch() {
    document.querySelector("main input[type=search]")?.focus();
  }

  openPalette() {
    document.dispatchEvent(new CustomEvent("open-palette"));
  }
}

customElements.define("keyboard-map", KeyboardMap);
