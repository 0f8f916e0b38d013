// <said-aloud for="state">: a live region beside a part of the page that htmx fetches anew. A region that is itself put
// in anew is not read by every screen reader, so this one stays, and takes the words of the part's [data-said]: at once
// where its data-said is another than before, else not so often that nothing else could be heard.

const QUIET_MS = 20000;

class SaidAloud extends HTMLElement {
  connectedCallback() {
    this.place = document.getElementById(this.getAttribute("for"));
    this.said = this.news?.dataset.said;
    this.saidAt = performance.now();
    this.stop = new AbortController();
    this.place.addEventListener("htmx:afterSettle", () => this.hear(), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop.abort();
    clearTimeout(this.waiting);
  }

  get news() {
    return this.place.querySelector("[data-said]");
  }

  hear() {
    clearTimeout(this.waiting);
    const isOther = this.news.dataset.said !== this.said;
    this.waiting = setTimeout(() => this.say(), isOther ? 0 : this.saidAt + QUIET_MS - performance.now());
  }

  say() {
    const { textContent: words, dataset } = this.news;
    this.said = dataset.said;
    if (words === this.textContent) return;
    this.saidAt = performance.now();
    this.textContent = words;
  }
}

customElements.define("said-aloud", SaidAloud);
