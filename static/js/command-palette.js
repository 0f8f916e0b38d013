// <command-palette>: a dialog with links to any page. Its button, Ctrl-K or ⌘K opens it, htmx searches for the typed text,
// arrows select a result, Enter opens it.

class CommandPalette extends HTMLElement {
  connectedCallback() {
    this.dialog = this.querySelector("dialog");
    this.input = this.querySelector("input");
    this.list = this.querySelector("[role=listbox]");
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("keydown", (event) => this.onShortcut(event), { signal });
    document.addEventListener("open-palette", () => this.open(), { signal });
    this.querySelector("[data-open-palette]").addEventListener("click", () => this.open(), { signal });
    this.input.addEventListener("keydown", (event) => this.onKey(event), { signal });
    this.list.addEventListener("htmx:afterSwap", () => this.select(0), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  get options() {
    return [...this.list.querySelectorAll("a[role=option]")];
  }

  get selectedIndex() {
    return this.options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  }

  onShortcut(event) {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    this.open();
  }

  open() {
    if (this.dialog.open) return;
    this.input.value = "";
    this.dialog.showModal();
    this.input.dispatchEvent(new CustomEvent("palette-opened"));
  }

  onKey(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      this.select((this.selectedIndex + by + this.options.length) % this.options.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.options[this.selectedIndex]?.click();
    }
  }

  select(i) {
    this.options.forEach((option, n) => option.setAttribute("aria-selected", String(n === i)));
    const option = this.options[i];
    if (!option) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }
}

customElements.define("command-palette", CommandPalette);
