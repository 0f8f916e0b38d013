// <chart-poller data-seconds="15">: refreshes the visible charts at this interval on pages without a socket. A hidden
// page does not poll. The server responds with 304 if there is nothing new.

class ChartPoller extends HTMLElement {
  connectedCallback() {
    this.polling = setInterval(() => {
      if (!document.hidden) document.dispatchEvent(new CustomEvent("points-missed", { detail: {} }));
    }, 1000 * Number(this.dataset.seconds));
  }

  disconnectedCallback() {
    clearInterval(this.polling);
  }
}

customElements.define("chart-poller", ChartPoller);
