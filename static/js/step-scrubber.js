// <step-scrubber for="id">: walks through the options of a <select> with a slider and two buttons. With the attribute
// keys also with "," and "." from anywhere on the page, never while somebody types or has switched single keys off.

const SETTLE_MS = 120;
const BY = { ",": -1, ".": 1 };
const TYPING = "input:not([type=range], [type=checkbox]), textarea, select, [contenteditable]";

class StepScrubber extends HTMLElement {
  connectedCallback() {
    this.select = document.getElementById(this.getAttribute("for"));
    this.slider = Object.assign(document.createElement("input"), { type: "range", min: 0 });
    this.slider.max = this.select.options.length - 1;
    this.slider.setAttribute("aria-label", gettext("Step"));
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    this.select.addEventListener("change", () => this.show());
    const [earlier, later] = [gettext("Earlier step"), gettext("Later step")];
    this.replaceChildren(this.step("◀", earlier, -1), this.slider, this.step("▶", later, 1));
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
    if (!BY[event.key] || isTyping || localStorage.getItem("single-keys-off")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.goTo(this.select.selectedIndex + BY[event.key]);
  }

  step(sign, label, by) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: sign });
    button.setAttribute("aria-label", label);
    button.addEventListener("click", () => this.goTo(this.select.selectedIndex + by));
    return button;
  }

  goTo(i) {
    if (i < 0 || i >= this.select.options.length) return;
    this.select.selectedIndex = i;
    this.show();
    clearTimeout(this.settling);
    const { value } = this.select;
    this.settling = setTimeout(() => this.settle(value), SETTLE_MS);
  }

  /** The part may have come anew meanwhile, with a select that knows nothing of the choice. */
  settle(value) {
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
