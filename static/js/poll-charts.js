// <poll-charts data-seconds="15">: for pages without a socket. Asks the charts in sight for what is new now and then,
// while somebody looks; the server answers 304 where nothing is.

class PollCharts extends HTMLElement {
  connectedCallback() {
    this.polling = setInterval(() => {
      if (!document.hidden) document.dispatchEvent(new CustomEvent("points-missed", { detail: {} }));
    }, 1000 * Number(this.dataset.seconds));
  }

  disconnectedCallback() {
    clearInterval(this.polling);
  }
}

customElements.define("poll-charts", PollCharts);
