// A voter's choices that the server has not confirmed yet, stored in this browser. Each choice has its own storage name,
// so that two tabs of one voter do not overwrite each other's, and a key by which the server recognises repeats.

const TIMEOUT_MS = 10000;

export class VoteQueue {
  constructor(store) {
    this.store = store;
    this.memory = new Map();
    this.count = 0;
  }

  add(choice) {
    const key = [...crypto.getRandomValues(new Uint8Array(12))].map((n) => n.toString(16).padStart(2, "0")).join("");
    const entry = { ...choice, key };
    const name = `${this.store}:${String(Date.now()).padStart(15, "0")}:${String((this.count += 1)).padStart(6, "0")}`;
    this.memory.set(name, entry);
    this.tryStorage(() => localStorage.setItem(name, JSON.stringify(entry)));
    return key;
  }

  all() {
    this.tryStorage(() => {
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
      this.tryStorage(() => localStorage.removeItem(name));
    }
  }

  /** Ignores errors of a browser without storage: the choices are then in memory while the page is open. */
  tryStorage(action) {
    try {
      action();
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
    }
  }
}

/** Requests an address, by POST if there is `content`. Throws if the server does not respond in time. */
export function request(address, token, content) {
  const headers = { "x-csrftoken": token, "content-type": "application/json" };
  const body = content && { method: "POST", body: JSON.stringify(content) };
  return fetch(address, { ...body, headers, credentials: "same-origin", signal: AbortSignal.timeout(TIMEOUT_MS) });
}
