// <live-run>: the page's one socket. It watches every run named in a data-watch='{"uid": cursor}' on the page and tells
// the document: `points` (detail: run, points) for charts, and `run-changed` with `run-changed:<what>` for htmx.
// A hidden tab is cut off; whoever comes back, or was cut off, asks for what follows its last cursor.

const WHATS = ["state", "responses", "population", "engines", "log", "checkpoints"];
const GATHER_MS = 1000;
const POLL_MS = 5000;
const LONGEST_WAIT_MS = 15000;
const FAILURES_BEFORE_POLLING = 2;
const NOT_SIGNED_IN = 4401;
const WORDS = {
  live: gettext("Live"),
  connecting: gettext("Connecting…"),
  away: gettext("Not live: asking every 5 s"),
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

  /** Takes up runs that the page names and lets go of those that it no longer does: a socket takes a hundred at most. */
  watch() {
    const before = this.cursors;
    this.cursors = {};
    for (const named of document.querySelectorAll("[data-watch]")) {
      for (const [uid, cursor] of Object.entries(JSON.parse(named.dataset.watch))) {
        if (!this.refused.has(uid)) this.cursors[uid] = before[uid] ?? cursor;
      }
    }
    if (Object.keys(this.cursors).every((uid) => uid in before)) return;
    if (this.socket?.readyState === WebSocket.OPEN) this.ask();
    else this.open();
  }

  open() {
    clearTimeout(this.again);
    if (this.socket || document.hidden || !Object.keys(this.cursors).length) return;
    this.say("connecting");
    this.socket = new WebSocket(new URL("/ws/live", location.href.replace(/^http/, "ws")));
    this.socket.onopen = () => this.ask();
    this.socket.onmessage = (message) => this.onMessage(JSON.parse(message.data));
    this.socket.onclose = (event) => this.onClose(event);
  }

  close() {
    clearTimeout(this.again);
    clearInterval(this.polling);
    const socket = this.socket;
    this.socket = this.polling = undefined;
    if (socket) {
      socket.onclose = socket.onmessage = null;
      // Closed before it is open, a socket complains in the console.
      if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
      else socket.close();
    }
  }

  ask() {
    this.socket.send(JSON.stringify({ watch: this.cursors }));
  }

  onWatching() {
    this.failures = 0;
    clearInterval(this.polling);
    this.polling = undefined;
    this.say("live");
    // What changed while nobody listened was never told: look at everything once.
    if (this.opened || this.hasAttribute("data-open")) this.tellAll();
    this.opened = true;
  }

  onClose(event) {
    this.socket = undefined;
    if (event.code === NOT_SIGNED_IN) return this.say("over");
    this.failures += 1;
    this.say(this.failures > FAILURES_BEFORE_POLLING ? "away" : "connecting");
    if (this.failures > FAILURES_BEFORE_POLLING) this.polling ??= setInterval(() => this.poll(), POLL_MS);
    this.again = setTimeout(() => this.open(), Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.failures) * (0.75 + Math.random() / 2));
  }

  onMessage(message) {
    const { type, run, cursor } = message;
    if (cursor && run in this.cursors) this.cursors[run] = Math.max(cursor, this.cursors[run] ?? 0);
    if (type === "watching") this.onWatching();
    if (type === "points") {
      document.dispatchEvent(new CustomEvent("points", { detail: message }));
      if ("reward/mean" in message.points) this.tell(run, "evaluation");
    }
    if (type === "behind") document.dispatchEvent(new CustomEvent("points-missed", { detail: { run } }));
    if (type === "changed") this.tell(run, message.what);
    if (type === "refused") {
      this.refused.add(run);
      delete this.cursors[run];
    }
  }

  poll() {
    document.dispatchEvent(new CustomEvent("points-missed", { detail: {} }));
    this.tellAll();
  }

  tellAll() {
    for (const run of Object.keys(this.cursors)) for (const what of WHATS) this.tell(run, what);
  }

  /** Says it now, and at most once a second: what comes in between is said at the end of that second. */
  tell(run, what) {
    if (this.changed.has(what)) {
      this.changed.get(what).add(run);
      return;
    }
    this.changed.set(what, new Set());
    this.dispatch(run, what);
    setTimeout(() => {
      const missed = this.changed.get(what);
      this.changed.delete(what);
      if (missed.size && this.isConnected) this.tell([...missed][0], what);
    }, GATHER_MS);
  }

  dispatch(run, what) {
    for (const name of ["run-changed", `run-changed:${what}`]) {
      document.body.dispatchEvent(new CustomEvent(name, { detail: { run, what } }));
    }
  }

  say(state) {
    this.dataset.state = state;
    this.textContent = WORDS[state];
  }
}

customElements.define("live-run", LiveRun);
