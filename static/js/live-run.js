// <live-run>: the page's one socket. It watches every run in a data-watch='{"uid": cursor}' on the page and dispatches
// events: `points` (detail: run, points) for charts, `run-changed` and `run-changed:<what>` for htmx. A hidden tab
// disconnects. After a reconnect it requests the changes since its last cursor.

const CHANGES = ["state", "responses", "population", "engines", "log", "checkpoints", "probes", "attacks"];
// Only evaluations write this key: REWARD in workers/analysis/keys.py.
const EVALUATED = "reward/mean";
const GATHER_MS = 1000;
const POLL_MS = 5000;
const MAX_WAIT_MS = 15000;
const FAILURES_BEFORE_POLLING = 2;
const NOT_SIGNED_IN = 4401;
const LABELS = {
  live: gettext("Live"),
  connecting: gettext("Connecting…"),
  away: gettext("Not live: updates every 5 s"),
  over: gettext("Sign in again"),
};

class LiveRun extends HTMLElement {
  connectedCallback() {
    this.cursors = {};
    this.refused = new Set();
    this.changed = new Map();
    this.failures = 0;
    this.opened = false;
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()), { signal });
    document.addEventListener("htmx:afterSettle", () => this.watch(), { signal });
    window.addEventListener("pagehide", () => this.close(), { signal });
    this.watch();
  }

  disconnectedCallback() {
    this.stop.abort();
    this.close();
  }

  /** Watches the runs that the page names now, and only those: one socket can watch at most a hundred. */
  watch() {
    const before = this.cursors;
    this.cursors = {};
    for (const { dataset } of document.querySelectorAll("[data-watch]")) {
      for (const [uid, cursor] of Object.entries(JSON.parse(dataset.watch))) {
        if (!this.refused.has(uid)) this.cursors[uid] = before[uid] ?? cursor;
      }
    }
    if (Object.keys(this.cursors).every((uid) => uid in before)) return;
    if (this.socket?.readyState === WebSocket.OPEN) this.sendCursors();
    else this.open();
  }

  open() {
    clearTimeout(this.retryTimer);
    if (this.socket || document.hidden || !Object.keys(this.cursors).length) return;
    this.showState("connecting");
    this.socket = new WebSocket(new URL("/ws/live", location.href.replace(/^http/, "ws")));
    this.socket.onopen = () => this.sendCursors();
    this.socket.onmessage = (message) => this.onMessage(JSON.parse(message.data));
    this.socket.onclose = (event) => this.onClose(event);
  }

  close() {
    clearTimeout(this.retryTimer);
    clearInterval(this.polling);
    const socket = this.socket;
    this.socket = this.polling = undefined;
    if (socket) {
      socket.onclose = socket.onmessage = null;
      // A socket that is closed before it is open logs an error, so wait until it is open.
      if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
      else socket.close();
    }
  }

  sendCursors() {
    this.socket.send(JSON.stringify({ watch: this.cursors }));
  }

  onWatching() {
    this.failures = 0;
    clearInterval(this.polling);
    this.polling = undefined;
    this.showState("live");
    // Changes while disconnected were not sent, so refresh everything once.
    if (this.opened || this.hasAttribute("data-open")) this.notifyAll();
    this.opened = true;
  }

  onClose(event) {
    this.socket = undefined;
    if (event.code === NOT_SIGNED_IN) return this.showState("over");
    this.failures += 1;
    this.showState(this.failures > FAILURES_BEFORE_POLLING ? "away" : "connecting");
    if (this.failures > FAILURES_BEFORE_POLLING) this.polling ??= setInterval(() => this.poll(), POLL_MS);
    const wait = Math.min(MAX_WAIT_MS, 500 * 2 ** this.failures) * (0.75 + Math.random() / 2);
    this.retryTimer = setTimeout(() => this.open(), wait);
  }

  onMessage(message) {
    const { type, run, cursor } = message;
    if (cursor && run in this.cursors) this.cursors[run] = Math.max(cursor, this.cursors[run] ?? 0);
    if (type === "watching") this.onWatching();
    if (type === "points") {
      document.dispatchEvent(new CustomEvent("points", { detail: message }));
      if (EVALUATED in message.points) this.notify(run, "evaluation");
    }
    if (type === "behind") document.dispatchEvent(new CustomEvent("points-missed", { detail: { run } }));
    if (type === "changed") this.notify(run, message.what);
    if (type === "refused") {
      this.refused.add(run);
      delete this.cursors[run];
    }
  }

  poll() {
    document.dispatchEvent(new CustomEvent("points-missed", { detail: {} }));
    this.notifyAll();
  }

  notifyAll() {
    for (const run of Object.keys(this.cursors)) for (const what of CHANGES) this.notify(run, what);
  }

  /** Dispatches the event now, but at most once a second: further changes are dispatched at the end of that second. */
  notify(run, what) {
    if (this.changed.has(what)) {
      this.changed.get(what).add(run);
      return;
    }
    this.changed.set(what, new Set());
    this.dispatch(run, what);
    setTimeout(() => {
      const missed = this.changed.get(what);
      this.changed.delete(what);
      if (missed.size && this.isConnected) this.notify([...missed][0], what);
    }, GATHER_MS);
  }

  dispatch(run, what) {
    for (const name of ["run-changed", `run-changed:${what}`]) {
      document.body.dispatchEvent(new CustomEvent(name, { detail: { run, what } }));
    }
  }

  showState(state) {
    this.dataset.state = state;
    this.textContent = LABELS[state];
  }
}

customElements.define("live-run", LiveRun);
