// <chart-wall>: the charts of a run. When points of a key arrive that has no chart yet, it asks htmx for the wall anew.

const WAIT_MS = 1500;

class ChartWall extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    document.addEventListener("points", (event) => this.onPoints(event.detail.points), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop.abort();
    clearTimeout(this.waiting);
  }

  onPoints(points) {
    const known = new Set(JSON.parse(this.dataset.keys));
    const news = Object.keys(points).filter((key) => !key.startsWith("axes/") && !known.has(key));
    // A first evaluation brings several keys in several messages: one question for all of them.
    if (news.length) this.waiting ??= setTimeout(() => this.ask(), WAIT_MS);
  }

  ask() {
    this.waiting = undefined;
    document.body.dispatchEvent(new CustomEvent("run-changed:keys"));
  }
}

customElements.define("chart-wall", ChartWall);
