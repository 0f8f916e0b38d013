// <page-filter for="id" name="curves" fold="folded">: its input is a regular expression, and of the element `for` only
// those [data-find] are shown whose words match it; sections without any are hidden, others opened. With `fold` it also
// remembers which details[data-slug] are folded. Both stand in the page's address, under the names `name` and `fold`.

class PageFilter extends HTMLElement {
  connectedCallback() {
    this.place = document.getElementById(this.getAttribute("for"));
    this.input = this.querySelector("input");
    this.words = this.querySelector("[role=status]");
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.input.value = this.asked(this.getAttribute("name")) ?? "";
    this.input.addEventListener("input", () => this.onInput(), { signal });
    this.place.addEventListener("click", (event) => this.onFold(event), { signal });
    // Parts that htmx fetches anew come as the server knows them: unsearched, folded as at first.
    this.place.addEventListener("htmx:afterSwap", (event) => event.target === this.place && this.show(), { signal });
    this.show();
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  get sections() {
    return [...this.place.querySelectorAll("[data-slug]")];
  }

  asked(name) {
    return new URL(location.href).searchParams.get(name);
  }

  remember(name, value, otherwise) {
    for (const link of [undefined, ...document.querySelectorAll("a[data-keeps-search]")]) {
      const address = new URL(link?.href ?? location.href);
      if (value === otherwise) address.searchParams.delete(name);
      else address.searchParams.set(name, value);
      if (link) link.href = address;
      else history.replaceState(history.state, "", address);
    }
  }

  onInput() {
    this.remember(this.getAttribute("name"), this.input.value, "");
    this.show();
  }

  onFold(event) {
    const section = event.target.closest("summary")?.closest("details[data-slug]");
    if (!section || !this.hasAttribute("fold") || this.input.value) return;
    // The click opens or folds it after this handler has run.
    const folded = this.sections.filter((one) => (one === section ? one.open : !one.open)).map((one) => one.dataset.slug);
    this.remember(this.getAttribute("fold"), folded.join(","), this.foldedAtFirst().join(","));
  }

  foldedAtFirst() {
    return this.sections.filter((one) => one.hasAttribute("data-folded")).map((one) => one.dataset.slug);
  }

  pattern() {
    try {
      this.input.removeAttribute("aria-invalid");
      return new RegExp(this.input.value, "i");
    } catch (error) {
      this.input.setAttribute("aria-invalid", "true");
      this.words.textContent = error.message;
    }
  }

  show() {
    const pattern = this.pattern();
    if (!pattern) return;
    const found = [...this.place.querySelectorAll("[data-find]")];
    for (const one of found) one.hidden = !pattern.test(one.dataset.find);
    this.showSections();
    const shown = found.filter((one) => !one.hidden).length;
    const told = interpolate(gettext("%(shown)s of %(all)s shown"), { shown, all: found.length }, true);
    this.words.textContent = this.input.value ? told : "";
  }

  showSections() {
    const folded = this.asked(this.getAttribute("fold"))?.split(",") ?? this.foldedAtFirst();
    for (const section of this.sections) {
      section.hidden = !section.querySelector("[data-find]:not([hidden])");
      if (this.hasAttribute("fold")) section.open = this.input.value !== "" || !folded.includes(section.dataset.slug);
    }
  }
}

customElements.define("page-filter", PageFilter);
