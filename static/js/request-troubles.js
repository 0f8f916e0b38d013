// <request-troubles>: says when a part of the page could not be fetched, and offers to try again. What is on the page
// stays. Where somebody was signed out meanwhile, the sign-in page is not put into the part, but offered.

const SIGN_IN = "/login/";

// What the site says of a server that is away: also whether a change may have been stored.
function sentenceOf(xhr) {
  const isPlain = xhr.getResponseHeader("Content-Type")?.startsWith("text/plain");
  return xhr.status === 503 && isPlain ? xhr.responseText : "";
}

class RequestTroubles extends HTMLElement {
  connectedCallback() {
    this.words = this.querySelector("[data-words]");
    this.again = this.querySelector("[data-again]");
    this.signIn = this.querySelector("a");
    this.failed = new Map();
    this.stop = new AbortController();
    const { signal } = this.stop;
    const on = (name, does) => document.body.addEventListener(name, (event) => does(event.detail), { signal });
    const answered = gettext("A part of this page is not up to date: the server answered %s.");
    const silent = gettext("A part of this page is not up to date: the server does not answer.");
    const slow = gettext("A part of this page is not up to date: the server takes too long.");
    on("htmx:responseError", (detail) => {
      this.onTrouble(detail, sentenceOf(detail.xhr) || interpolate(answered, [detail.xhr.status]));
    });
    on("htmx:sendError", (detail) => this.onTrouble(detail, silent));
    on("htmx:timeout", (detail) => this.onTrouble(detail, slow));
    on("htmx:beforeSwap", (detail) => this.beforeSwap(detail));
    on("htmx:afterRequest", (detail) => detail.successful && this.onSuccess(detail));
    this.again.addEventListener("click", () => this.tryAgain(), { signal });
    this.querySelector("[data-close]").addEventListener("click", () => this.close(), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onTrouble({ elt, requestConfig: { verb, path } }, words) {
    this.failed.set(path, { elt, verb });
    this.show(words);
    // What a person sent is theirs to send again: only questions are repeated.
    this.again.hidden = [...this.failed.values()].some((one) => one.verb !== "get");
    this.signIn.hidden = true;
  }

  onSuccess({ requestConfig: { path } }) {
    if (this.failed.delete(path) && !this.failed.size) this.close();
  }

  beforeSwap(detail) {
    if (new URL(detail.xhr.responseURL || location.href).pathname !== SIGN_IN) return;
    detail.shouldSwap = false;
    this.show(gettext("You are signed out, so that this page is no longer up to date."));
    this.signIn.href = `${SIGN_IN}?next=${encodeURIComponent(location.pathname + location.search)}`;
    this.signIn.hidden = false;
    this.again.hidden = true;
  }

  show(words) {
    this.words.textContent = words;
    this.hidden = false;
  }

  close() {
    this.failed.clear();
    this.hidden = true;
  }

  tryAgain() {
    const failed = [...this.failed];
    this.close();
    for (const [path, { elt }] of failed) {
      if (elt.isConnected) htmx.ajax("GET", path, { source: elt });
    }
  }
}

customElements.define("request-troubles", RequestTroubles);
