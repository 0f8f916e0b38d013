// <parallel-brush>: around the parallel coordinates and the table of the same cells. Pressing values on the axes keeps
// the lines through them: any of the values of one axis, and on every axis with a pressed value. A line and its row in
// the table are highlighted together. The pressed values survive a refresh of the part inside.

class ParallelBrush extends HTMLElement {
  connectedCallback() {
    /** Key of an axis -> names of its pressed values. */
    this.pressed = new Map();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("click", ({ target }) => this.onPress(target), { signal });
    this.addEventListener("keydown", (event) => this.onKey(event), { signal });
    this.addEventListener("pointerover", ({ target }) => this.light(target), { signal });
    this.addEventListener("pointerleave", () => this.light(), { signal });
    this.addEventListener("focusin", ({ target }) => this.light(target), { signal });
    this.addEventListener("focusout", () => this.light(), { signal });
    this.addEventListener("htmx:beforeSwap", () => this.rememberFocus(), { signal });
    this.addEventListener("htmx:afterSwap", () => this.onSwap(), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onKey(event) {
    if (event.key !== "Enter" && event.key !== " ") return;
    const stop = event.target.closest(".stop");
    if (!stop) return;
    event.preventDefault();
    this.toggle(stop);
  }

  onPress(target) {
    const stop = target.closest(".stop");
    if (stop) this.toggle(stop);
    else if (target.closest("[data-brush-clear]")) this.clear();
  }

  toggle(stop) {
    const { key } = stop.closest(".axis").dataset;
    const names = this.pressed.get(key) ?? new Set();
    if (!names.delete(stop.dataset.name)) names.add(stop.dataset.name);
    this.pressed.set(key, names);
    if (!names.size) this.pressed.delete(key);
    this.announce(this.show());
  }

  clear() {
    this.pressed.clear();
    this.announce(this.show());
    this.querySelector(".stop")?.focus();
  }

  /** Draws the pressed values. Returns a sentence with the number of lines through them, or an empty text. */
  show() {
    const svg = this.querySelector(".coordinates");
    if (!svg) return "";
    const required = [...svg.querySelectorAll(".axis")].map((axis) => this.showAxis(axis));
    const isBrushed = required.some(Boolean);
    const lines = [...svg.querySelectorAll(".cell-line")];
    let kept = 0;
    for (const line of lines) {
      const stops = line.dataset.stops.split(" ");
      const isIn = required.every((names, axis) => !names || names.has(stops[axis]));
      line.classList.toggle("is-out", isBrushed && !isIn);
      kept += isIn;
      const row = this.querySelector(`tr[data-cell="${line.dataset.cell}"]`);
      row?.classList.toggle("is-out", isBrushed && !isIn);
    }
    const text = isBrushed ? interpolate(gettext("%(kept)s of %(all)s lines"), { kept, all: lines.length }, true) : "";
    this.querySelector("[data-brush-clear]").hidden = !isBrushed;
    this.querySelector("[data-brush-count]").textContent = text;
    return text;
  }

  /** Returns the indexes of the axis's pressed values; nothing if there are none, or if they are not drawn any more. */
  showAxis(axis) {
    const names = this.pressed.get(axis.dataset.key);
    const indexes = new Set();
    for (const stop of axis.querySelectorAll(".stop")) {
      const isPressed = Boolean(names?.has(stop.dataset.name));
      stop.setAttribute("aria-pressed", String(isPressed));
      if (isPressed) indexes.add(stop.dataset.stop);
    }
    return indexes.size ? indexes : undefined;
  }

  announce(text) {
    this.querySelector("[data-brush-status]").textContent = text || gettext("All lines");
  }

  /** Highlights the line and the row of the cell that an element belongs to. */
  light(target) {
    for (const lit of this.querySelectorAll(".is-lit")) lit.classList.remove("is-lit");
    const cell = target?.closest("[data-cell]")?.dataset.cell;
    if (cell === undefined) return;
    for (const part of this.querySelectorAll(`[data-cell="${cell}"]`)) part.classList.add("is-lit");
  }

  rememberFocus() {
    const stop = document.activeElement?.closest?.(".stop");
    this.focused = stop && { key: stop.closest(".axis").dataset.key, name: stop.dataset.name };
  }

  onSwap() {
    this.show();
    if (!this.focused) return;
    const { key, name } = this.focused;
    this.focused = undefined;
    const axis = [...this.querySelectorAll(".axis")].find(({ dataset }) => dataset.key === key);
    const stops = [...(axis?.querySelectorAll(".stop") ?? [])];
    stops.find(({ dataset }) => dataset.name === name)?.focus({ preventScroll: true });
  }
}

customElements.define("parallel-brush", ParallelBrush);
