// <count-down data-seconds="10">: counts to zero, once a second, by a clock that nobody sets. Not read aloud: what it
// counts to is told when it comes.

class CountDown extends HTMLElement {
  connectedCallback() {
    this.endsAt = performance.now() + 1000 * Number(this.dataset.seconds);
    this.timer = setInterval(() => this.say(), 1000);
    this.say();
  }

  disconnectedCallback() {
    clearInterval(this.timer);
  }

  say() {
    const left = Math.round((this.endsAt - performance.now()) / 1000);
    this.textContent = left > 0 ? interpolate(gettext("in %s s"), [left]) : gettext("now");
  }
}

customElements.define("count-down", CountDown);
