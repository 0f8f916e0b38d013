// <answer-shape>: its buttons, or x and s, show long answers whole, and let the answers of a row scroll together. The
// browser remembers both. Single keys are for those who have not switched them off (<keyboard-map>).

const KEYS = { x: "whole", s: "together" };
const TYPING = "input, textarea, select, [contenteditable]";

class AnswerShape extends HTMLElement {
  connectedCallback() {
    this.hidden = false;
    this.answers = this.closest(".beside");
    this.echoes = new WeakSet();
    this.stop = new AbortController();
    const { signal } = this.stop;
    for (const button of this.buttons) button.addEventListener("click", () => this.flip(button.dataset.shape), { signal });
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
    // A scroll does not bubble.
    this.answers.addEventListener("scroll", (event) => this.onScroll(event.target), { capture: true, passive: true, signal });
    this.show();
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  get buttons() {
    return this.querySelectorAll("button");
  }

  onKey(event) {
    const isTyping = event.target.matches?.(TYPING) || document.querySelector("dialog[open]");
    if (isTyping || localStorage.getItem("single-keys-off") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (KEYS[event.key]) this.flip(KEYS[event.key]);
  }

  flip(shape) {
    if (localStorage.getItem(`answers-${shape}`)) localStorage.removeItem(`answers-${shape}`);
    else localStorage.setItem(`answers-${shape}`, "1");
    this.show();
  }

  show() {
    for (const button of this.buttons) {
      const isOn = localStorage.getItem(`answers-${button.dataset.shape}`) !== null;
      button.setAttribute("aria-pressed", String(isOn));
      this.answers.toggleAttribute(`data-${button.dataset.shape}`, isOn);
    }
  }

  onScroll(moved) {
    if (!this.answers.hasAttribute("data-together") || !moved.classList.contains("answer-text")) return;
    // What was moved along says so too, a moment later.
    if (this.echoes.delete(moved)) return;
    const share = moved.scrollTop / Math.max(1, moved.scrollHeight - moved.clientHeight);
    for (const other of moved.closest("tr").querySelectorAll(".answer-text")) {
      if (other !== moved) this.moveAlong(other, share * (other.scrollHeight - other.clientHeight));
    }
  }

  moveAlong(other, top) {
    const before = other.scrollTop;
    other.scrollTop = top;
    if (other.scrollTop !== before) this.echoes.add(other);
  }
}

customElements.define("answer-shape", AnswerShape);
