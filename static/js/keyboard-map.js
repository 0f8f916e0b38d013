// <keyboard-map>: "?" shows which keys do what, "/" goes to the page's search, "g" opens the palette. Single keys are
// for those who want them: its box switches them off, and the browser remembers that. Never while somebody types.

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
    const does = { "?": () => this.dialog.showModal(), "/": () => this.search(), g: () => this.goAnywhere() }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  search() {
    document.querySelector("main input[type=search]")?.focus();
  }

  goAnywhere() {
    document.dispatchEvent(new CustomEvent("palette-wanted"));
  }
}

customElements.define("keyboard-map", KeyboardMap);
