// <countdown-timer data-seconds="10">: counts down to zero once a second, by a monotonic clock. Screen readers do not
// announce the countdown: the event that it waits for is announced itself.

class CountdownTimer extends HTMLElement {
  connectedCallback() {
    this.endsAt = performance.now() + 1000 * Number(this.dataset.seconds);
    this.timer = setInterval(() => this.update(), 1000);
    this.update();
  }

  disconnectedCallback() {
    clearInterval(this.timer);
  }

  update() {
    const left = Math.round((this.endsAt - performance.now()) / 1000);
    this.textContent = left > 0 ? interpolate(gettext("in %s s"), [left]) : gettext("now");
  }
}

customElements.define("countdown-timer", CountdownTimer);
