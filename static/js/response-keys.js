// <response-keys>: j and k move through its rows and on to the next or previous page; 1 to 9 pin a column. The keys are
// ignored while the user types, or if single-key shortcuts are switched off (<keyboard-map>).

const TYPING = "input, textarea, select, [contenteditable]";

class ResponseKeys extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    document.addEventListener("keydown", (event) => this.onKey(event), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onKey(event) {
    const isTyping = event.target.matches?.(TYPING) || document.querySelector("dialog[open]");
    if (isTyping || localStorage.getItem("single-keys-off") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j") this.move(1, "next");
    else if (event.key === "k") this.move(-1, "previous");
    else if (/^[1-9]$/.test(event.key)) this.querySelector(`[data-pin="${event.key}"]`)?.click();
    else return;
    event.preventDefault();
  }

  move(by, page) {
    const rows = [...this.querySelectorAll("[data-row]")];
    const current = rows.findIndex((row) => row.contains(document.activeElement));
    const next = current < 0 && by < 0 ? undefined : rows[current + by];
    if (!next) return this.querySelector(`[data-page="${page}"]`)?.click();
    next.focus();
    next.scrollIntoView({ block: "start" });
  }
}

customElements.define("response-keys", ResponseKeys);
