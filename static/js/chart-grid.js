// <chart-grid>: the charts of a run. Reloads the grid when points arrive for a key that has no chart yet.

const WAIT_MS = 1500;

class ChartGrid extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    document.addEventListener("points", (event) => this.onPoints(event.detail.points), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop.abort();
    clearTimeout(this.waiting);
  }

  onPoints(points) {
    const existing = new Set(JSON.parse(this.dataset.keys));
    const added = Object.keys(points).filter((key) => !key.startsWith("axes/") && !existing.has(key));
    // The first evaluation adds several keys in several messages, so wait and reload once for all of them.
    if (added.length) this.waiting ??= setTimeout(() => this.reload(), WAIT_MS);
  }

  reload() {
    this.waiting = undefined;
    document.body.dispatchEvent(new CustomEvent("run-changed:keys"));
  }
}

customElements.define("chart-grid", ChartGrid);
