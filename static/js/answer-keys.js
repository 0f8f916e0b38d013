// <answer-keys>: j and k walk through its rows, and over the page's end to the next page; 1 to 9 pin a column. Single keys
// are for those who have not switched them off (<keyboard-map>). Never while somebody types.

const TYPING = "input, textarea, select, [contenteditable]";

class AnswerKeys extends HTMLElement {
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
    if (event.key === "j") this.walk(1, "next");
    else if (event.key === "k") this.walk(-1, "previous");
    else if (/^[1-9]$/.test(event.key)) this.querySelector(`[data-pin="${event.key}"]`)?.click();
    else return;
    event.preventDefault();
  }

  walk(by, beyond) {
    const rows = [...this.querySelectorAll("[data-row]")];
    const here = rows.findIndex((row) => row.contains(document.activeElement));
    const next = here < 0 && by < 0 ? undefined : rows[here + by];
    if (!next) return this.querySelector(`[data-page="${beyond}"]`)?.click();
    next.focus();
    next.scrollIntoView({ block: "start" });
  }
}

customElements.define("answer-keys", AnswerKeys);
