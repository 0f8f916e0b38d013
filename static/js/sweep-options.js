// <sweep-options>: around the form that selects the metric of a sweep and the keys of its heat map. A change is written
// to the page's address, and the event `sweep-options` refreshes the page's parts. After a refresh the lists offer what
// the results offer: runs may have new metrics.

import { setParameters } from "./address-state.js";

class SweepOptions extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    this.form = this.querySelector("form");
    this.form.addEventListener("change", () => this.onChange(), { signal: this.stop.signal });
    document.body.addEventListener("htmx:afterSettle", () => this.onRefresh(), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onChange() {
    const selects = [...this.form.querySelectorAll("select")];
    setParameters(Object.fromEntries(selects.map(({ name, value }) => [name, value])));
    document.body.dispatchEvent(new CustomEvent("sweep-options"));
  }

  onRefresh() {
    const offered = document.querySelector("[data-metrics]");
    const { metric, summary, rows, columns } = this.form.elements;
    if (!offered) return;
    const keys = JSON.parse(offered.dataset.metrics);
    this.fill(metric, keys.includes(metric.value) ? keys : [metric.value, ...keys]);
    this.fill(summary, JSON.parse(offered.dataset.summaries));
    // The server swaps the keys if both selects name the same.
    if (rows && document.activeElement !== rows) rows.value = offered.dataset.rows;
    if (columns && document.activeElement !== columns) columns.value = offered.dataset.columns;
  }

  /** Replaces the options of a select if they have changed. An option is a value, or a value and its label. */
  fill(select, options) {
    const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
    const before = [...select.options].map((option) => option.value);
    if (before.join("\n") === pairs.map(([value]) => value).join("\n")) return;
    const { value: selected } = select;
    select.replaceChildren(...pairs.map(([value, label]) => new Option(label, value)));
    select.value = pairs.some(([value]) => value === selected) ? selected : pairs[0][0];
  }
}

customElements.define("sweep-options", SweepOptions);
