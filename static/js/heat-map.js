// <heat-map>: a map of cells, each a link with a title. It makes the cells one Tab stop with arrow keys between them, and
// writes the title of the cell at the pointer or with the focus into its <output>.

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };
const ROWS = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" };

class HeatMap extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.cells = [...this.querySelectorAll("td > a, li > a")];
    this.line = this.querySelector("output");
    this.setTabStop(this.cells.find((cell) => cell.hasAttribute("aria-current")) ?? this.cells[0]);
    this.addEventListener("keydown", (event) => this.onKey(event), { signal });
    this.addEventListener("focusin", ({ target }) => this.onFocus(target), { signal });
    this.addEventListener("pointerover", ({ target }) => this.show(target), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  setTabStop(current) {
    for (const cell of this.cells) cell.tabIndex = cell === current ? 0 : -1;
  }

  onFocus(target) {
    if (!this.cells.includes(target)) return;
    this.setTabStop(target);
    this.show(target);
  }

  show(target) {
    if (this.cells.includes(target)) this.line.textContent = target.title;
  }

  onKey(event) {
    const at = this.cells.indexOf(event.target);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const ends = { Home: this.cells[0], End: this.cells.at(-1) };
    const next = ends[event.key] ?? this.cells[at + STEPS[event.key]] ?? this.vertical(event);
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  /** Returns the next cell of the same column in the direction of the key; from the last row the first cell below. */
  vertical({ key, target }) {
    const direction = ROWS[key];
    const column = target.parentElement.cellIndex;
    if (!direction || column === undefined) return key === "ArrowUp" ? this.lastOfTable() : undefined;
    for (let row = target.closest("tr")[direction]; row; row = row[direction]) {
      const cell = row.cells[column]?.firstElementChild;
      if (cell) return cell;
    }
    return key === "ArrowDown" ? this.querySelector("li > a") : undefined;
  }

  lastOfTable() {
    return [...this.querySelectorAll("td > a")].at(-1);
  }
}

customElements.define("heat-map", HeatMap);
