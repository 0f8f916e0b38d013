// <log-tail data-url>: the end of a growing log. It requests the new end when the log grows and keeps it visible. While
// the user reads (has scrolled up, or selects text), the lines stay as they are and a button offers the new ones.

const NEAR_PX = 24;
const GROWTH = ["run-changed:log", "run-changed:state"];

/** Whether the log has grown since the last request. It outlives the element, which each response replaces. */
let isStale = false;

class LogTail extends HTMLElement {
  connectedCallback() {
    this.box = this.querySelector("pre");
    this.button = this.querySelector("button");
    this.isAtEnd = true;
    this.stop = new AbortController();
    const { signal } = this.stop;
    for (const name of GROWTH) document.body.addEventListener(name, () => this.onGrowth(), { signal });
    this.box.addEventListener("scroll", () => this.onScroll(), { signal });
    this.button.addEventListener("click", () => this.showNewLines(), { signal });
    document.addEventListener("selectionchange", () => this.refresh(), { signal });
    document.addEventListener("htmx:beforeSwap", ({ detail }) => this.beforeSwap(detail), { signal });
    this.addEventListener("htmx:beforeSend", () => (isStale = false), { signal });
    this.scrollToEnd();
    // The request that brought this element has not ended yet.
    queueMicrotask(() => this.refresh());
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  get isRead() {
    const selection = document.getSelection();
    return !this.isAtEnd || (!selection.isCollapsed && selection.containsNode(this.box, true));
  }

  onGrowth() {
    isStale = true;
    this.refresh();
  }

  onScroll() {
    this.isAtEnd = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < NEAR_PX;
    this.refresh();
  }

  /** Requests the new end, unless the user reads. htmx ignores it while another request of the log is under way. */
  refresh() {
    this.button.hidden = !isStale || !this.isRead;
    // A search may abort the request, and <request-errors> reports its failure.
    if (isStale && !this.isRead) htmx.ajax("GET", this.dataset.url, { source: this }).catch(() => undefined);
  }

  /** Discards a new end that arrives after the user has begun to read. */
  beforeSwap(detail) {
    if (detail.requestConfig.elt !== this || !this.isRead) return;
    detail.shouldSwap = false;
    this.onGrowth();
  }

  showNewLines() {
    document.getSelection().removeAllRanges();
    this.box.focus({ preventScroll: true });
    this.scrollToEnd();
  }

  scrollToEnd() {
    this.box.scrollTop = this.box.scrollHeight;
  }
}

customElements.define("log-tail", LogTail);
