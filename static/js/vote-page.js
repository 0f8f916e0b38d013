// <vote-page>: shows a voter one pair after another. Every choice is stored in this browser immediately and sent in order.
// Choices that the server did not confirm are sent again with the same key, so that none is lost and none counts twice.
// Pairs that are already loaded can be judged without a connection.

import { request, VoteQueue } from "./vote-queue.js";

const MIN_OPEN_PAIRS = 4;
const BATCH_SIZE = 50;
const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 15000;
const KEYS = { 1: "left", 2: "right", 0: "tie", b: "both_bad" };

const isDone = (article) =>
  article.hasAttribute("data-passed") ||
  [...article.querySelectorAll("[data-rubric]")].every((question) => question.querySelector("[aria-pressed=true]"));

class VotePage extends HTMLElement {
  connectedCallback() {
    this.queue = new VoteQueue(this.dataset.store);
    this.history = [];
    this.progress = { done: Number(this.dataset.done), left: Number(this.dataset.left) };
    this.wait = MIN_WAIT_MS;
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
    window.addEventListener("online", () => this.flush(), { signal });
    window.addEventListener("offline", () => this.updateStatus(), { signal });
    this.addEventListener("click", (event) => this.onClick(event), { signal });
    this.one("[data-reasons]").addEventListener("close", () => this.turn && this.focusOn(this.turn), { signal });
    this.restoreChoices();
    this.show(this.next(), false);
    this.flush();
  }

  disconnectedCallback() {
    this.stop.abort();
    clearTimeout(this.retryTimer);
  }

  one(selector) {
    return this.querySelector(selector);
  }

  /** Restores choices that were made before the page was loaded and are not sent yet. */
  restoreChoices() {
    for (const choice of this.queue.all()) {
      if (choice.undo) {
        const undone = this.history.find(({ key }) => key === choice.undo);
        if (undone) this.mark(undone, false);
        this.history = this.history.filter((other) => other !== undone);
      } else {
        this.history.push(choice);
        this.mark(choice, true);
      }
    }
  }

  /** Marks a choice on the page, or removes the mark. */
  mark({ turn, rubric, said: verdict, reason }, isActive) {
    const article = this.one(`[data-turn="${turn}"]`);
    if (!article) return;
    if (reason) article.toggleAttribute("data-passed", isActive);
    else article.removeAttribute("data-passed");
    for (const button of article.querySelectorAll(`[data-rubric="${rubric}"] [data-verdict]`)) {
      button.setAttribute("aria-pressed", String(isActive && button.dataset.verdict === verdict));
    }
  }

  next() {
    return [...this.querySelectorAll("[data-turn]")].find((article) => !isDone(article));
  }

  show(article, moves = true) {
    for (const other of this.querySelectorAll("[data-turn]")) other.hidden = other !== article;
    this.turn = article;
    this.shownAt = performance.now();
    this.one("[data-nothing]").hidden = Boolean(article);
    this.one("[data-skip]").disabled = !article;
    this.activate();
    if (article && moves) this.focusOn(article);
  }

  focusOn(article) {
    article.querySelector("h2").focus({ preventScroll: true });
    article.scrollIntoView({ block: "start" });
  }

  /** Returns the question that the next key answers: the one with the focus, else the first without a choice. */
  activeQuestion() {
    const questions = [...(this.turn?.querySelectorAll("[data-rubric]") ?? [])];
    const focused = questions.find((question) => question.contains(document.activeElement));
    return focused ?? questions.find((question) => !question.querySelector("[aria-pressed=true]")) ?? questions[0];
  }

  activate() {
    const active = this.activeQuestion();
    for (const question of this.querySelectorAll("[data-rubric]")) {
      question.toggleAttribute("data-active", question === active);
    }
    this.one("[data-undo]").disabled = !this.history.length;
    this.updateStatus();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const key = event.key.toLowerCase();
    if (this.one("[data-reasons]").open) {
      const button = this.querySelectorAll("[data-reason]")[Number(key) - 1];
      if (button) this.skip(button.dataset.reason);
      return;
    }
    const actions = {
      s: () => this.openReasons(), u: () => this.undo(), v: () => this.unblur(), w: () => this.reveal(),
    };
    if (key in KEYS) this.choose(this.activeQuestion(), KEYS[key]);
    else if (key in actions) actions[key]();
    else return;
    event.preventDefault();
  }

  onClick({ target }) {
    const button = target.closest("button");
    if (!button) return;
    const { verdict, reason } = button.dataset;
    if (verdict) this.choose(button.closest("[data-rubric]"), verdict);
    else if (reason) this.skip(reason);
    else if ("skip" in button.dataset) this.openReasons();
    else if ("undo" in button.dataset) this.undo();
    else if ("unblur" in button.dataset) this.unblur();
    else if ("reveal" in button.dataset) this.reveal();
  }

  choose(question, verdict) {
    if (!question || !this.turn) return;
    const seconds = Math.round(performance.now() - this.shownAt) / 1000;
    const [turn, rubric] = [Number(this.turn.dataset.turn), Number(question.dataset.rubric)];
    this.save({ turn, rubric, said: verdict, seconds });
    // A click leaves the focus on the answered question: move it, so that the next question becomes the active one.
    if (question.contains(document.activeElement) && this.turn) this.focusOn(this.turn);
    this.activate();
  }

  openReasons() {
    if (this.turn) this.one("[data-reasons]").showModal();
  }

  skip(reason) {
    this.one("[data-reasons]").close();
    if (this.turn) this.save({ turn: Number(this.turn.dataset.turn), reason });
  }

  save(choice) {
    const key = this.queue.add(choice);
    const saved = { ...choice, key };
    this.history.push(saved);
    this.mark(saved, true);
    if (isDone(this.turn)) {
      this.last = this.turn.dataset.turn;
      this.progress.done += 1;
      this.progress.left = Math.max(0, this.progress.left - 1);
      this.one("[data-revealed]").textContent = "";
      this.show(this.next());
    }
    this.activate();
    this.announce(this.turn ? gettext("Saved.") : gettext("Saved. No more pairs are ready."));
    this.flush();
  }

  undo() {
    const undone = this.history.pop();
    if (!undone) return;
    this.queue.add({ undo: undone.key });
    const article = this.one(`[data-turn="${undone.turn}"]`);
    const wasDone = article && isDone(article);
    this.mark(undone, false);
    if (article && wasDone) {
      this.progress.done -= 1;
      this.progress.left += 1;
    }
    this.last = undefined;
    if (article) this.show(article);
    this.announce(gettext("Undone."));
    this.activate();
    this.flush();
  }

  unblur() {
    for (const responses of this.querySelectorAll(".blurred")) {
      responses.classList.remove("blurred");
      responses.inert = false;
    }
    this.isUnblurred = true;
    this.one("[data-warning]").hidden = true;
  }

  /** Shows who wrote the responses of the last pair, once the server has the vote. The vote can then no longer change. */
  async reveal() {
    const turn = this.last;
    if (!turn || !("reveals" in this.dataset)) return;
    const output = this.one("[data-revealed]");
    try {
      const reply = await request(`${this.dataset.turns}${turn}/reveal/`, this.dataset.token, {});
      const { left, right, why } = await reply.json();
      output.textContent = reply.ok
        ? interpolate(gettext("Response 1: %s. Response 2: %s. This vote is now final."), [left, right])
        : why;
      if (reply.ok) this.history = this.history.filter((choice) => String(choice.turn) !== turn);
    } catch {
      output.textContent = gettext("The server does not answer. Try again later.");
    }
    this.activate();
  }

  /** Sends the waiting choices in order, then fetches more pairs. Only one call runs at a time. */
  async flush() {
    if (this.isSending) return;
    clearTimeout(this.retryTimer);
    this.isSending = true;
    try {
      while (this.queue.all().length && (await this.send()));
      if (!this.queue.all().length) await this.fetchMore();
      this.isAway = false;
    } catch {
      this.isAway = true;
    }
    this.isSending = false;
    if (this.isConnected && (this.queue.all().length || this.isAway)) this.retry();
    else this.wait = MIN_WAIT_MS;
    this.updateStatus();
  }

  retry() {
    this.retryTimer = setTimeout(() => this.flush(), this.wait);
    this.wait = Math.min(2 * this.wait, MAX_WAIT_MS);
  }

  /** Sends one batch. Returns whether the next can be sent immediately. Throws on an unexpected response. */
  async send() {
    const choices = this.queue.all().slice(0, BATCH_SIZE);
    const reply = await request(this.dataset.choices, this.dataset.token, { choices });
    if (this.isExpired(reply)) return false;
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    const { kept: stored, refused, later, done, left } = await reply.json();
    this.queue.remove(new Set([...stored, ...refused.map(({ key }) => key)]));
    this.showErrors([...new Set([...refused, ...later].map(({ why }) => why))]);
    if (!this.queue.all().length) this.progress = { done, left };
    return !later.length;
  }

  /** Returns whether the voter may no longer vote, and tells them. The queue is sent once they have access again. */
  isExpired(reply) {
    const isExpired = reply.redirected || reply.status === 403 || reply.status === 404;
    if (isExpired) {
      this.showErrors([
        gettext("You can no longer vote here: the link or your session has expired. Open your link again."),
      ]);
    }
    return isExpired;
  }

  showErrors(messages) {
    const box = this.one("[data-refusals]");
    box.hidden = !messages.length;
    box.textContent = messages.join(" ");
  }

  async fetchMore() {
    const articles = [...this.querySelectorAll("[data-turn]")];
    if (articles.filter((article) => !isDone(article)).length >= MIN_OPEN_PAIRS || this.isComplete) return;
    const open = articles.filter((article) => !isDone(article)).map((article) => `beside=${article.dataset.turn}`);
    const reply = await request(`${this.dataset.turns}?${open.join("&")}`, this.dataset.token);
    if (this.isExpired(reply)) return;
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    // Safe to insert: the server's templates escape the responses of models.
    const part = new DOMParser().parseFromString(await reply.text(), "text/html");
    const fresh = [...part.querySelectorAll("[data-turn]")].filter(({ dataset }) => !this.one(`[data-turn="${dataset.turn}"]`));
    this.one("[data-pairs]").append(...fresh);
    if (this.isUnblurred) this.unblur();
    this.isComplete = !fresh.length;
    if (!this.turn) this.show(this.next(), fresh.length > 0);
  }

  announce(message) {
    this.one("[data-aloud]").textContent = message;
  }

  updateStatus() {
    const { done, left } = this.progress;
    this.one("[data-progress]").textContent = interpolate(gettext("%s judged by you, %s left"), [done, left]);
    const count = this.queue.all().length;
    const unsent = ngettext(
      "No connection: %s choice is saved in this browser and sent later. You can continue voting.",
      "No connection: %s choices are saved in this browser and sent later. You can continue voting.",
      count,
    );
    const offline = (this.isAway || !navigator.onLine) && interpolate(unsent, [count]);
    const saved = gettext("Saved.");
    this.one("[data-connection]").textContent = offline || (count ? gettext("Saving…") : saved);
    // Announce only the loss and the return of the connection: choices are announced one by one.
    if (Boolean(offline) !== Boolean(this.announcedOffline) && (offline || !count)) {
      this.announce(offline || saved);
      this.announcedOffline = offline;
    }
    const reveal = this.one("[data-reveal]");
    if (reveal) reveal.hidden = !this.last || count > 0;
  }
}

customElements.define("vote-page", VotePage);
