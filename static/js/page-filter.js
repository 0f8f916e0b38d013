// <page-filter for="id" name="curves" fold="folded">: its input is a regular expression. Within the element `for` it shows
// only the [data-find] whose text matches, hides sections without a match and opens the others. With `fold` it also
// remembers which details[data-slug] are closed. Both are parameters of the page's address, named by `name` and `fold`.

class PageFilter extends HTMLElement {
  connectedCallback() {
    this.target = document.getElementById(this.getAttribute("for"));
    this.input = this.querySelector("input");
    this.status = this.querySelector("[role=status]");
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.input.value = this.parameter(this.getAttribute("name")) ?? "";
    this.input.addEventListener("input", () => this.onInput(), { signal });
    this.target.addEventListener("click", (event) => this.onFold(event), { signal });
    // The server renders parts for htmx unfiltered and with the default sections closed, so filter them again.
    this.target.addEventListener("htmx:afterSwap", (event) => event.target === this.target && this.show(), { signal });
    this.show();
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  get sections() {
    return [...this.target.querySelectorAll("[data-slug]")];
  }

  parameter(name) {
    return new URL(location.href).searchParams.get(name);
  }

  setParameter(name, value, defaultValue) {
    for (const link of [undefined, ...document.querySelectorAll("a[data-keeps-search]")]) {
      const address = new URL(link?.href ?? location.href);
      if (value === defaultValue) address.searchParams.delete(name);
      else address.searchParams.set(name, value);
      if (link) link.href = address;
      else history.replaceState(history.state, "", address);
    }
  }

  onInput() {
    this.setParameter(this.getAttribute("name"), this.input.value, "");
    this.show();
  }

  onFold(event) {
    const section = event.target.closest("summary")?.closest("details[data-slug]");
    if (!section || !this.hasAttribute("fold") || this.input.value) return;
    // The browser opens or closes it only after this handler has run, so its `open` is still the old state.
    const folded = this.sections.filter((other) => (other === section ? other.open : !other.open));
    const slugs = folded.map(({ dataset }) => dataset.slug);
    this.setParameter(this.getAttribute("fold"), slugs.join(","), this.foldedByDefault().join(","));
  }

  foldedByDefault() {
    return this.sections.filter((section) => section.hasAttribute("data-folded")).map(({ dataset }) => dataset.slug);
  }

  pattern() {
    try {
      this.input.removeAttribute("aria-invalid");
      return new RegExp(this.input.value, "i");
    } catch (error) {
      this.input.setAttribute("aria-invalid", "true");
      this.status.textContent = error.message;
    }
  }

  show() {
    const pattern = this.pattern();
    if (!pattern) return;
    const items = [...this.target.querySelectorAll("[data-find]")];
    for (const item of items) item.hidden = !pattern.test(item.dataset.find);
    this.showSections();
    const shown = items.filter((item) => !item.hidden).length;
    const message = interpolate(gettext("%(shown)s of %(all)s shown"), { shown, all: items.length }, true);
    this.status.textContent = this.input.value ? message : "";
  }

  showSections() {
    const folded = this.parameter(this.getAttribute("fold"))?.split(",") ?? this.foldedByDefault();
    for (const section of this.sections) {
      section.hidden = !section.querySelector("[data-find]:not([hidden])");
      if (this.hasAttribute("fold")) section.open = this.input.value !== "" || !folded.includes(section.dataset.slug);
    }
  }
}

customElements.define("page-filter", PageFilter);
