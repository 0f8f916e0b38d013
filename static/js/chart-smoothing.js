// <chart-smoothing data-smooth="gaussian-5">: a select of the kind and a slider of the amount. While the slider moves, all
// charts of the page fetch their smoothed lines, and the page's address keeps the smoothing. Event on document:
// `chart-options`.

import { parameter, setParameters } from "./address-state.js";

const DELAY_MS = 150;
const KINDS = {
  ema: { min: 0, max: 0.99, step: 0.01, initial: 0.6, text: (n) => interpolate(gettext("weight %s"), [n]) },
  gaussian: { min: 1, max: 125, step: 1, initial: 5, text: (n) => inPoints(n) },
  median: { min: 3, max: 1001, step: 2, initial: 9, text: (n) => inPoints(n) },
};

const inPoints = (n) => interpolate(ngettext("%s point", "%s points", n), [n]);

/** Returns [kind, amount] of a smoothing in the server's notation: 0.6, gaussian-5, median-9. */
function parse(text) {
  const [, kind, amount] = /^(?:(gaussian|median)-)?([\d.]+)$/.exec(text) ?? [];
  return Number(amount) > 0 ? [kind ?? "ema", Number(amount)] : ["none", 0];
}

class ChartSmoothing extends HTMLElement {
  connectedCallback() {
    this.select = this.querySelector("select");
    this.range = this.querySelector("input[type=range]");
    this.output = this.querySelector("output");
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.select.addEventListener("change", () => this.onKind(), { signal });
    this.range.addEventListener("input", () => this.onAmount(), { signal });
    const [kind, amount] = parse(parameter("smooth") ?? this.dataset.smooth);
    this.select.value = kind;
    this.showSlider(amount);
  }

  disconnectedCallback() {
    this.stop.abort();
    clearTimeout(this.timer);
  }

  get kind() {
    return KINDS[this.select.value];
  }

  showSlider(amount) {
    this.range.hidden = this.output.hidden = !this.kind;
    if (!this.kind) return;
    const { min, max, step } = this.kind;
    Object.assign(this.range, { min, max, step, value: amount });
    this.showAmount();
  }

  showAmount() {
    const text = this.kind.text(Number(this.range.value));
    this.output.value = text;
    this.range.setAttribute("aria-valuetext", text);
  }

  onKind() {
    this.showSlider(this.kind?.initial);
    this.apply();
  }

  onAmount() {
    this.showAmount();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.apply(), DELAY_MS);
  }

  apply() {
    const amount = this.kind ? Number(this.range.value) : 0;
    const prefix = this.select.value === "ema" ? "" : `${this.select.value}-`;
    setParameters({ smooth: amount ? prefix + amount : undefined });
    document.dispatchEvent(new CustomEvent("chart-options"));
  }
}

customElements.define("chart-smoothing", ChartSmoothing);
