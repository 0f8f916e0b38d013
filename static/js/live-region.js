// <live-region for="state">: an ARIA live region for a part of the page that htmx replaces. Not every screen reader
// announces a region that was itself replaced, so this one stays on the page and copies the text of the part's
// [data-announce-key]: immediately if the key has changed, otherwise at most once in QUIET_MS. Without such a text, as
// in a part that is empty for now, it announces nothing.

const QUIET_MS = 20000;

class LiveRegion extends HTMLElement {
  connectedCallback() {
    this.source = document.getElementById(this.getAttribute("for"));
    this.lastKey = this.message?.dataset.announceKey;
    this.announcedAt = performance.now();
    this.stop = new AbortController();
    this.source.addEventListener("htmx:afterSettle", () => this.onUpdate(), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop.abort();
    clearTimeout(this.waiting);
  }

  get message() {
    return this.source.querySelector("[data-announce-key]");
  }

  onUpdate() {
    clearTimeout(this.waiting);
    if (!this.message) return;
    const isUrgent = this.message.dataset.announceKey !== this.lastKey;
    this.waiting = setTimeout(() => this.announce(), isUrgent ? 0 : this.announcedAt + QUIET_MS - performance.now());
  }

  announce() {
    // htmx may have replaced the part since the timer was set.
    if (!this.message) return;
    const { textContent: text, dataset } = this.message;
    this.lastKey = dataset.announceKey;
    if (text === this.textContent) return;
    this.announcedAt = performance.now();
    this.textContent = text;
  }
}

customElements.define("live-region", LiveRegion);
