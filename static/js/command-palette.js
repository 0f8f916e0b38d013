// <command-palette>: a dialog that goes anywhere. Ctrl-K or ⌘K opens it; what is typed asks htmx for places; arrows
// choose among them, Enter goes there.

class CommandPalette extends HTMLElement {
  connectedCallback() {
    this.dialog = this.querySelector("dialog");
    this.input = this.querySelector("input");
    this.list = this.querySelector("[role=listbox]");
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("keydown", (event) => this.onShortcut(event), { signal });
    document.addEventListener("palette-wanted", () => this.open(), { signal });
    this.input.addEventListener("keydown", (event) => this.onKey(event), { signal });
    this.list.addEventListener("htmx:afterSwap", () => this.choose(0), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  get places() {
    return [...this.list.querySelectorAll("a[role=option]")];
  }

  get chosen() {
    return this.places.findIndex((place) => place.getAttribute("aria-selected") === "true");
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
      this.choose((this.chosen + by + this.places.length) % this.places.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.places[this.chosen]?.click();
    }
  }

  choose(i) {
    this.places.forEach((place, n) => place.setAttribute("aria-selected", String(n === i)));
    const place = this.places[i];
    if (!place) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", place.id);
    place.scrollIntoView({ block: "nearest" });
  }
}

customElements.define("command-palette", CommandPalette);
