// <step-scrubber for="id">: moves through the options of a <select> with a slider and two buttons. With the attribute
// `keys` also with "," and ".", except while the user types or if single-key shortcuts are switched off.

const SETTLE_MS = 120;
const KEYS = { ",": -1, ".": 1 };
const TYPING = "input:not([type=range], [type=checkbox]), textarea, select, [contenteditable]";

class StepScrubber extends HTMLElement {
  connectedCallback() {
    this.select = document.getElementById(this.getAttribute("for"));
    this.slider = Object.assign(document.createElement("input"), { type: "range", min: 0 });
    this.slider.max = this.select.options.length - 1;
    this.slider.setAttribute("aria-label", gettext("Step"));
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    this.select.addEventListener("change", () => this.show());
    const [previous, next] = [gettext("Previous step"), gettext("Next step")];
    this.replaceChildren(this.createButton("◀", previous, -1), this.slider, this.createButton("▶", next, 1));
    this.show();
    this.stop = new AbortController();
    if (this.hasAttribute("keys")) {
      document.addEventListener("keydown", (event) => this.onKey(event), { signal: this.stop.signal });
    }
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onKey(event) {
    const isTyping = event.target.matches?.(TYPING) || document.querySelector("dialog[open]");
    if (!KEYS[event.key] || isTyping || localStorage.getItem("single-keys-off")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.goTo(this.select.selectedIndex + KEYS[event.key]);
  }

  createButton(sign, label, by) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: sign });
    button.setAttribute("aria-label", label);
    button.addEventListener("click", () => this.goTo(this.select.selectedIndex + by));
    return button;
  }

  goTo(i) {
    if (i < 0 || i >= this.select.options.length) return;
    this.select.selectedIndex = i;
    this.show();
    clearTimeout(this.applyTimer);
    const { value } = this.select;
    this.applyTimer = setTimeout(() => this.apply(value), SETTLE_MS);
  }

  /** Selects the value and fires `change`. Looks the <select> up again, as htmx may have replaced it meanwhile. */
  apply(value) {
    const select = document.getElementById(this.getAttribute("for"));
    if (!select) return;
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  }

  show() {
    this.slider.value = this.select.selectedIndex;
    this.slider.setAttribute("aria-valuetext", this.select.selectedOptions[0]?.textContent ?? "");
  }
}

customElements.define("step-scrubber", StepScrubber);
