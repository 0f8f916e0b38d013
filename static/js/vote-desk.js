// <vote-desk>: pairs stand before a voter one after another. Every choice is kept in this browser at once, and sent in
// order; what the server did not confirm is sent again, with the same key, so that nothing is lost and nothing counts
// twice. Pairs that stand ready are judged without a connection.

import { ask, Waiting } from "./vote-waiting.js";

const ENOUGH_AHEAD = 4;
const AT_ONCE = 50;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15000;
const KEYS = { 1: "left", 2: "right", 0: "tie", b: "both_bad" };

const isDone = (article) =>
  article.hasAttribute("data-passed") ||
  [...article.querySelectorAll("[data-rubric]")].every((ask) => ask.querySelector("[aria-pressed=true]"));

class VoteDesk extends HTMLElement {
  connectedCallback() {
    this.waiting = new Waiting(this.dataset.store);
    this.past = [];
    this.progress = { done: Number(this.dataset.done), left: Number(this.dataset.left) };
    this.wait = FIRST_WAIT_MS;
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
    window.addEventListener("online", () => this.flush(), { signal });
    window.addEventListener("offline", () => this.say(), { signal });
    this.addEventListener("click", (event) => this.onClick(event), { signal });
    this.one("[data-reasons]").addEventListener("close", () => this.turn && this.focusOn(this.turn), { signal });
    this.one("[data-warning]").hidden = !this.querySelector("[data-pairs][data-warns]");
    this.takeUp();
    this.show(this.next(), false);
    this.flush();
  }

  disconnectedCallback() {
    this.stop.abort();
    clearTimeout(this.again);
  }

  one(selector) {
    return this.querySelector(selector);
  }

  /** What was chosen before the page was loaded, and could not be sent yet. */
  takeUp() {
    for (const choice of this.waiting.all()) {
      if (choice.undo) {
        const undone = this.past.find(({ key }) => key === choice.undo);
        if (undone) this.mark(undone, false);
        this.past = this.past.filter((one) => one !== undone);
      } else {
        this.past.push(choice);
        this.mark(choice, true);
      }
    }
  }

  /** Puts a choice on the page, or takes it off. */
  mark({ turn, rubric, said, reason }, isMade) {
    const article = this.one(`[data-turn="${turn}"]`);
    if (!article) return;
    if (reason) article.toggleAttribute("data-passed", isMade);
    else article.removeAttribute("data-passed");
    for (const button of article.querySelectorAll(`[data-rubric="${rubric}"] [data-said]`)) {
      button.setAttribute("aria-pressed", String(isMade && button.dataset.said === said));
    }
  }

  next() {
    return [...this.querySelectorAll("[data-turn]")].find((article) => !isDone(article));
  }

  show(article, moves = true) {
    for (const other of this.querySelectorAll("[data-turn]")) other.hidden = other !== article;
    this.turn = article;
    this.since = performance.now();
    this.one("[data-nothing]").hidden = Boolean(article) || this.isFetching || Boolean(this.more);
    this.one("[data-skip]").disabled = !article;
    this.activate();
    if (article && moves) this.focusOn(article);
  }

  focusOn(article) {
    article.querySelector("h2").focus({ preventScroll: true });
    article.scrollIntoView({ block: "start" });
  }

  /** The question that the next key answers: the one with the focus, else the first without a choice. */
  active() {
    const asks = [...(this.turn?.querySelectorAll("[data-rubric]") ?? [])];
    const focused = asks.find((ask) => ask.contains(document.activeElement));
    return focused ?? asks.find((ask) => !ask.querySelector("[aria-pressed=true]")) ?? asks[0];
  }

  activate() {
    const active = this.active();
    for (const ask of this.querySelectorAll("[data-rubric]")) ask.toggleAttribute("data-active", ask === active);
    this.one("[data-undo]").disabled = !this.past.length;
    this.say();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const key = event.key.toLowerCase();
    if (this.one("[data-reasons]").open) {
      const button = this.querySelectorAll("[data-reason]")[Number(key) - 1];
      if (button) this.skip(button.dataset.reason);
      return;
    }
    const does = {
      s: () => this.askWhy(), u: () => this.undo(), v: () => this.unblur(), w: () => this.reveal(),
    };
    if (key in KEYS) this.choose(this.active(), KEYS[key]);
    else if (key in does) does[key]();
    else return;
    event.preventDefault();
  }

  onClick({ target }) {
    const button = target.closest("button");
    if (!button) return;
    const { said, reason } = button.dataset;
    if (said) this.choose(button.closest("[data-rubric]"), said);
    else if (reason) this.skip(reason);
    else if ("skip" in button.dataset) this.askWhy();
    else if ("undo" in button.dataset) this.undo();
    else if ("unblur" in button.dataset) this.unblur();
    else if ("reveal" in button.dataset) this.reveal();
  }

  choose(ask, said) {
    if (!ask || !this.turn) return;
    const seconds = Math.round(performance.now() - this.since) / 1000;
    this.make({ turn: Number(this.turn.dataset.turn), rubric: Number(ask.dataset.rubric), said, seconds });
    // The mark stands on the question that is left, not on the one that was answered with the mouse.
    if (ask.contains(document.activeElement) && this.turn) this.focusOn(this.turn);
    this.activate();
  }

  askWhy() {
    if (this.turn) this.one("[data-reasons]").showModal();
  }

  skip(reason) {
    this.one("[data-reasons]").close();
    if (this.turn) this.make({ turn: Number(this.turn.dataset.turn), reason });
  }

  make(choice) {
    const key = this.waiting.add(choice);
    const made = { ...choice, key };
    this.past.push(made);
    this.mark(made, true);
    if (isDone(this.turn)) {
      this.last = this.turn.dataset.turn;
      this.progress.done += 1;
      this.progress.left = Math.max(0, this.progress.left - 1);
      this.one("[data-revealed]").textContent = "";
      this.show(this.next());
    }
    this.activate();
    this.aloud(this.turn ? gettext("Kept.") : gettext("Kept. No pair stands ready."));
    this.flush();
  }

  undo() {
    const undone = this.past.pop();
    if (!undone) return;
    this.waiting.add({ undo: undone.key });
    const article = this.one(`[data-turn="${undone.turn}"]`);
    const wasDone = article && isDone(article);
    this.mark(undone, false);
    if (article && wasDone) {
      this.progress.done -= 1;
      this.progress.left += 1;
    }
    this.last = undefined;
    if (article) this.show(article);
    this.aloud(gettext("Taken back."));
    this.activate();
    this.flush();
  }

  unblur() {
    for (const answers of this.querySelectorAll(".blurred")) {
      answers.classList.remove("blurred");
      answers.inert = false;
    }
    this.isUnblurred = true;
    this.one("[data-warning]").hidden = true;
  }

  /** Only once the server has the vote: whoever knows whose answers they are changes nothing any more. */
  async reveal() {
    const turn = this.last;
    if (!turn || !("reveals" in this.dataset)) return;
    const says = this.one("[data-revealed]");
    try {
      const answer = await ask(`${this.dataset.turns}${turn}/reveal/`, this.dataset.token, {});
      const told = await answer.json();
      says.textContent = answer.ok
        ? interpolate(gettext("Answer 1: %s. Answer 2: %s. This vote stays."), [told.left, told.right])
        : told.why;
      if (answer.ok) this.past = this.past.filter((choice) => String(choice.turn) !== turn);
    } catch {
      says.textContent = gettext("Not now: the server does not answer.");
    }
    this.activate();
  }

  /** Sends what waits, in order, then looks for more pairs. One at a time. */
  async flush() {
    if (this.isSending) return;
    clearTimeout(this.again);
    this.isSending = true;
    try {
      while (this.waiting.all().length && (await this.send()));
      if (!this.waiting.all().length) await this.fetchMore();
      this.isAway = false;
    } catch {
      this.isAway = true;
    }
    this.isSending = false;
    if (this.isConnected && (this.waiting.all().length || this.isAway)) this.later();
    else this.wait = FIRST_WAIT_MS;
    this.say();
  }

  later() {
    this.again = setTimeout(() => this.flush(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT_MS);
  }

  /** True where more may be sent at once. Throws where the server does not answer as it should. */
  async send() {
    const choices = this.waiting.all().slice(0, AT_ONCE);
    const answer = await ask(this.dataset.choices, this.dataset.token, { choices });
    if (this.isOver(answer)) return false;
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    const { kept, refused, later, done, left } = await answer.json();
    this.waiting.remove(new Set([...kept, ...refused.map(({ key }) => key)]));
    this.refuse([...new Set([...refused, ...later].map(({ why }) => why))]);
    if (!this.waiting.all().length) this.progress = { done, left };
    return !later.length;
  }

  /** Says so where the voter may not vote any more. What waits stays, and is sent when they are let in again. */
  isOver(answer) {
    const isOver = answer.redirected || answer.status === 403 || answer.status === 404;
    if (isOver) {
      this.refuse([gettext("You may not vote here any more: the link or your session has ended. Open your link again.")]);
    }
    return isOver;
  }

  refuse(whys) {
    const place = this.one("[data-refusals]");
    place.hidden = !whys.length;
    place.textContent = whys.join(" ");
  }

  async fetchMore() {
    const articles = [...this.querySelectorAll("[data-turn]")];
    if (articles.filter((article) => !isDone(article)).length >= ENOUGH_AHEAD || this.isComplete) return;
    const open = articles.filter((article) => !isDone(article)).map((article) => `beside=${article.dataset.turn}`);
    const answer = await ask(`${this.dataset.turns}?${open.join("&")}`, this.dataset.token);
    if (this.isOver(answer)) return;
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    // Written by the server's templates, which escape what models said.
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = [...part.querySelectorAll("[data-turn]")].filter(({ dataset }) => !this.one(`[data-turn="${dataset.turn}"]`));
    this.one("[data-pairs]").append(...fresh);
    if (this.isUnblurred) this.unblur();
    this.isComplete = !fresh.length;
    if (!this.turn) this.show(this.next(), fresh.length > 0);
  }

  aloud(words) {
    this.one("[data-aloud]").textContent = words;
  }

  say() {
    const { done, left } = this.progress;
    this.one("[data-progress]").textContent = interpolate(gettext("%s judged by you, %s left"), [done, left]);
    const count = this.waiting.all().length;
    const away = gettext("No connection: %s choices wait here and are sent when it is back. Go on.");
    const words = (this.isAway || !navigator.onLine) && interpolate(away, [count]);
    const kept = gettext("Everything is kept.");
    this.one("[data-connection]").textContent = words || (count ? gettext("Keeping…") : kept);
    // Read aloud only when it is lost and when it is back: each choice has a word of its own.
    if (Boolean(words) !== Boolean(this.saidAway) && (words || !count)) {
      this.aloud(words || kept);
      this.saidAway = words;
    }
    const reveal = this.one("[data-reveal]");
    if (reveal) reveal.hidden = !this.last || count > 0;
  }
}

customElements.define("vote-desk", VoteDesk);
