// What a voter chose and the server has not confirmed, kept in this browser until it has: each choice under a name of its
// own, so that two tabs of one voter do not overwrite each other's, and with a key by which the server knows it again.

const PATIENCE_MS = 10000;

export class Waiting {
  constructor(store) {
    this.store = store;
    this.memory = new Map();
    this.count = 0;
  }

  add(choice) {
    const random = [...crypto.getRandomValues(new Uint8Array(12))].map((n) => n.toString(16).padStart(2, "0")).join("");
    const whole = { ...choice, key: random };
    const name = `${this.store}:${String(Date.now()).padStart(15, "0")}:${String((this.count += 1)).padStart(6, "0")}`;
    this.memory.set(name, whole);
    this.keep(() => localStorage.setItem(name, JSON.stringify(whole)));
    return random;
  }

  all() {
    this.keep(() => {
      for (const name of Object.keys(localStorage)) {
        if (name.startsWith(`${this.store}:`)) this.memory.set(name, JSON.parse(localStorage.getItem(name)));
      }
    });
    return [...this.memory].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, choice]) => choice);
  }

  remove(keys) {
    for (const [name, { key }] of this.memory) {
      if (!keys.has(key)) continue;
      this.memory.delete(name);
      this.keep(() => localStorage.removeItem(name));
    }
  }

  /** A browser that keeps nothing still votes, while the page is open. */
  keep(does) {
    try {
      does();
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
    }
  }
}

/** Asks the server, or sends it `content`. Throws where it does not answer in time. */
export function ask(address, token, content) {
  const headers = { "x-csrftoken": token, "content-type": "application/json" };
  const sent = content && { method: "POST", body: JSON.stringify(content) };
  return fetch(address, { ...sent, headers, credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE_MS) });
}
