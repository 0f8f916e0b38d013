// Drag and drop of charts by their headings, with a mouse or a pen. A finger scrolls the page; buttons move charts there.

const HANDLE = ".chart-head :is(h2, h3, h4)";
const START_PX = 6;

/** Calls `drop(chart, other, isBefore)` when a chart is dropped on another one of its grid. `accepts(chart, other)` returns
 * whether it may be. Escape cancels. */
export function watchDrags(root, accepts, drop, signal) {
  const start = (event) => {
    const chart = event.target.closest?.(HANDLE)?.closest(".chart");
    if (chart && event.button === 0 && event.pointerType !== "touch") new Drag(chart, event, accepts, drop);
  };
  root.addEventListener("pointerdown", start, { signal });
}

class Drag {
  constructor(chart, event, accepts, drop) {
    Object.assign(this, { chart, accepts, drop, x: event.clientX, y: event.clientY });
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("pointermove", (move) => this.onMove(move), { signal });
    document.addEventListener("pointerup", () => this.end(true), { signal });
    document.addEventListener("pointercancel", () => this.end(false), { signal });
    document.addEventListener("keydown", ({ key }) => key === "Escape" && this.end(false), { signal });
  }

  onMove({ clientX, clientY }) {
    if (!this.isActive && Math.hypot(clientX - this.x, clientY - this.y) < START_PX) return;
    if (!this.isActive) this.begin();
    const other = document.elementFromPoint(clientX, clientY)?.closest(".chart");
    const isTarget = other && other !== this.chart && other.parentElement === this.chart.parentElement;
    this.mark(isTarget && this.accepts(this.chart, other) ? other : undefined, clientX, clientY);
  }

  begin() {
    this.isActive = true;
    this.chart.classList.add("is-dragged");
    document.documentElement.classList.add("is-dragging");
    getSelection().removeAllRanges();
  }

  /** Marks where the chart would go: before or after the other one. */
  mark(other, x, y) {
    this.unmark();
    this.other = other;
    if (!other) return;
    const { left, top, width, height } = other.getBoundingClientRect();
    const isFullWidth = width > 0.8 * other.parentElement.clientWidth;
    this.isBefore = isFullWidth ? y < top + height / 2 : x < left + width / 2;
    other.classList.add(this.isBefore ? "drop-before" : "drop-after");
  }

  unmark() {
    this.other?.classList.remove("drop-before", "drop-after");
  }

  end(isDrop) {
    this.stop.abort();
    this.unmark();
    this.chart.classList.remove("is-dragged");
    document.documentElement.classList.remove("is-dragging");
    if (isDrop && this.isActive && this.other) this.drop(this.chart, this.other, this.isBefore);
  }
}
