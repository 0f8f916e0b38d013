// <label-page>: labels a response by keys. A key presses the control whose data-key names it, and Enter saves. Without
// this script, the page is a form.

const TYPING = "textarea, select, input:not([type=radio]):not([type=checkbox])";

class LabelPage extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
    this.addEventListener("change", (event) => this.onChange(event), { signal });
    this.addEventListener("submit", (event) => this.onSubmit(event), { signal });
    // A page that the browser shows again, as it was left, can be sent again.
    window.addEventListener("pageshow", () => (this.isSent = false), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onKey(event) {
    if (event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
    const isTyping = event.target.matches?.(TYPING);
    if (event.key === "Enter") {
      // On a button, a link or the codebook, Enter does what it does everywhere.
      if (event.target.closest?.("button, a, summary") || (isTyping && !event.ctrlKey)) return;
      this.press(event, this.querySelector("[data-save]"));
    } else if (!isTyping && !event.ctrlKey) {
      this.press(event, this.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`));
    }
  }

  press(event, control) {
    if (!control) return;
    event.preventDefault();
    control.click();
    if (control.matches("input")) control.focus({ preventScroll: true });
  }

  /** Leaves only the newest of the kinds that exclude each other. */
  onChange({ target }) {
    if (!target.matches("[data-exclusive]:checked")) return;
    for (const other of this.querySelectorAll("[data-exclusive]:checked")) other.checked = other === target;
  }

  /** Sends a form once: a second Enter must not label the next response. */
  onSubmit(event) {
    if (this.isSent) event.preventDefault();
    this.isSent = true;
  }
}

customElements.define("label-page", LabelPage);
