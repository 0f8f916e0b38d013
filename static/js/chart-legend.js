// <chart-legend>: hides and shows lines on all charts of the page. Any markup works that follows these attributes, such as
// a list of groups or a table of runs:
// - <button data-line="SLUG">: hides or shows the line whose traces have this legendgroup; a double-click shows only it.
//   This script sets aria-pressed: "true" while the line is visible. Its closest li or tr gets data-hidden while hidden.
// - <button data-only="SLUG">: shows only this line; pressed again, it shows all. This script sets aria-pressed.
// - <button data-show-all hidden>: shows all lines. It is visible while a line is hidden.

import { hiddenLines, hideLines } from "./chart-lines.js";

class ChartLegend extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("click", (event) => this.onClick(event), { signal });
    this.addEventListener("dblclick", (event) => this.onDoubleClick(event), { signal });
    this.addEventListener("htmx:afterSettle", () => this.show(), { signal });
    document.addEventListener("chart-lines", () => this.show(), { signal });
    this.show();
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  get lines() {
    return [...this.querySelectorAll("[data-line]")].map(({ dataset }) => dataset.line);
  }

  onClick({ target }) {
    const button = target.closest("[data-line], [data-only], [data-show-all]");
    if (!button) return;
    const { line, only } = button.dataset;
    if (line !== undefined) this.toggle(line);
    else if (only !== undefined) this.isolate(only);
    else this.showAll(button);
  }

  /** A double-click also fires two clicks, which hide the line and show it again. */
  onDoubleClick({ target }) {
    const line = target.closest("[data-line]")?.dataset.line;
    if (line !== undefined) this.isolate(line);
  }

  toggle(line) {
    const hidden = hiddenLines();
    if (!hidden.delete(line)) hidden.add(line);
    hideLines(hidden);
  }

  isolate(line) {
    hideLines(this.isOnly(line) ? [] : this.lines.filter((other) => other !== line));
  }

  isOnly(line) {
    const hidden = hiddenLines();
    return this.lines.length > 1 && this.lines.every((other) => hidden.has(other) === (other !== line));
  }

  showAll(button) {
    hideLines([]);
    // The button has hidden itself, so the focus moves to the first line.
    if (document.activeElement === button || document.activeElement === document.body) {
      this.querySelector("[data-line]")?.focus();
    }
  }

  show() {
    const hidden = hiddenLines();
    for (const button of this.querySelectorAll("[data-line]")) {
      const isHidden = hidden.has(button.dataset.line);
      button.setAttribute("aria-pressed", String(!isHidden));
      button.closest("li, tr")?.toggleAttribute("data-hidden", isHidden);
    }
    for (const button of this.querySelectorAll("[data-only]")) {
      button.setAttribute("aria-pressed", String(this.isOnly(button.dataset.only)));
    }
    for (const button of this.querySelectorAll("[data-show-all]")) button.hidden = hidden.size === 0;
  }
}

customElements.define("chart-legend", ChartLegend);
