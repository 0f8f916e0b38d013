// <log-tail>: keeps the end of a growing log visible, unless the user has scrolled up.

const NEAR_PX = 24;

class LogTail extends HTMLElement {
  connectedCallback() {
    this.follow = true;
    this.addEventListener("scroll", (event) => this.onScroll(event.target), { capture: true });
    this.watcher = new MutationObserver(() => this.scrollToEnd());
    this.watcher.observe(this, { childList: true, subtree: true });
    this.scrollToEnd();
  }

  disconnectedCallback() {
    this.watcher.disconnect();
  }

  onScroll(box) {
    this.follow = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
  }

  scrollToEnd() {
    const box = this.querySelector("pre");
    if (box && this.follow) box.scrollTop = box.scrollHeight;
  }
}

customElements.define("log-tail", LogTail);
