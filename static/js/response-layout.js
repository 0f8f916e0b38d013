// <response-layout>: its buttons, or the keys x and s, show long responses in full and make the responses of a row scroll
// together. Cookies store both, so that the server renders them and pages do not move. The keys can be switched off
// (<keyboard-map>).

const KEYS = { x: "whole", s: "together" };
const YEAR_SECONDS = 365 * 24 * 3600;
const TYPING = "input, textarea, select, [contenteditable]";

class ResponseLayout extends HTMLElement {
  connectedCallback() {
    this.responses = this.closest(".beside");
    this.ownScrolls = new WeakSet();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("click", ({ target }) => this.toggle(target.closest("button")?.dataset.shape), { signal });
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
    // Scroll events do not bubble, so capture them.
    this.responses.addEventListener("scroll", (event) => this.onScroll(event.target), { capture: true, passive: true, signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onKey(event) {
    const isTyping = event.target.matches?.(TYPING) || document.querySelector("dialog[open]");
    if (isTyping || localStorage.getItem("single-keys-off") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (KEYS[event.key]) this.toggle(KEYS[event.key]);
  }

  toggle(shape) {
    const button = this.querySelector(`[data-shape="${shape}"]`);
    if (!button) return;
    const isOn = this.responses.toggleAttribute(`data-${shape}`);
    button.setAttribute("aria-pressed", String(isOn));
    const maxAge = isOn ? YEAR_SECONDS : 0;
    document.cookie = `responses-${shape}=on; path=/; max-age=${maxAge}; samesite=lax`;
  }

  onScroll(scrolled) {
    if (!this.responses.hasAttribute("data-together") || !scrolled.classList.contains("answer-text")) return;
    // Ignore the event of a response that was scrolled here.
    if (this.ownScrolls.delete(scrolled)) return;
    const share = scrolled.scrollTop / Math.max(1, scrolled.scrollHeight - scrolled.clientHeight);
    for (const other of scrolled.closest("tr").querySelectorAll(".answer-text")) {
      if (other !== scrolled) this.scrollTogether(other, share * (other.scrollHeight - other.clientHeight));
    }
  }

  scrollTogether(other, top) {
    const before = other.scrollTop;
    other.scrollTop = top;
    if (other.scrollTop !== before) this.ownScrolls.add(other);
  }
}

customElements.define("response-layout", ResponseLayout);
