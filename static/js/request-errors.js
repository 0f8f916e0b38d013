// <request-errors>: reports when a part of the page could not be fetched, and offers to try again. The page keeps its
// content. If the user was signed out meanwhile, it offers a link instead of inserting the sign-in page into the part.

const SIGN_IN = "/login/";

// Returns the site's own text about an outage, which also says whether a change may have been stored.
function outageText(xhr) {
  const isPlain = xhr.getResponseHeader("Content-Type")?.startsWith("text/plain");
  return xhr.status === 503 && isPlain ? xhr.responseText : "";
}

class RequestErrors extends HTMLElement {
  connectedCallback() {
    this.message = this.querySelector("[data-words]");
    this.retryButton = this.querySelector("[data-again]");
    this.signIn = this.querySelector("a");
    this.failed = new Map();
    this.stop = new AbortController();
    const { signal } = this.stop;
    const on = (name, action) => document.body.addEventListener(name, (event) => action(event.detail), { signal });
    const failed = gettext("Part of this page is out of date: the server answered %s.");
    const silent = gettext("Part of this page is out of date: the server does not answer.");
    const slow = gettext("Part of this page is out of date: the server takes too long.");
    on("htmx:responseError", (detail) => {
      this.onError(detail, outageText(detail.xhr) || interpolate(failed, [detail.xhr.status]));
    });
    on("htmx:sendError", (detail) => this.onError(detail, silent));
    on("htmx:timeout", (detail) => this.onError(detail, slow));
    on("htmx:beforeSwap", (detail) => this.beforeSwap(detail));
    on("htmx:afterRequest", (detail) => detail.successful && this.onSuccess(detail));
    this.retryButton.addEventListener("click", () => this.tryAgain(), { signal });
    this.querySelector("[data-close]").addEventListener("click", () => this.close(), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  onError({ elt, requestConfig: { verb, path } }, message) {
    this.failed.set(path, { elt, verb });
    this.show(message);
    // Only GET requests are repeated: users send their own changes again.
    this.retryButton.hidden = [...this.failed.values()].some((request) => request.verb !== "get");
    this.signIn.hidden = true;
  }

  onSuccess({ requestConfig: { path } }) {
    if (this.failed.delete(path) && !this.failed.size) this.close();
  }

  beforeSwap(detail) {
    if (new URL(detail.xhr.responseURL || location.href).pathname !== SIGN_IN) return;
    detail.shouldSwap = false;
    this.show(gettext("You are signed out, so this page is out of date."));
    this.signIn.href = `${SIGN_IN}?next=${encodeURIComponent(location.pathname + location.search)}`;
    this.signIn.hidden = false;
    this.retryButton.hidden = true;
  }

  show(message) {
    this.message.textContent = message;
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
      // A request that fails again is reported again.
      if (elt.isConnected) htmx.ajax("GET", path, { source: elt }).catch(() => undefined);
    }
  }
}

customElements.define("request-errors", RequestErrors);
