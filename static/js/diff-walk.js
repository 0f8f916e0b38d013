// <diff-walk>: its buttons with data-step go from one row that differs to the next, and say which it is. The focus stays
// on the button, so that the same key goes on.

class DiffWalk extends HTMLElement {
  connectedCallback() {
    for (const button of this.querySelectorAll("[data-step]")) {
      button.addEventListener("click", () => this.walk(Number(button.dataset.step)));
    }
  }

  walk(step) {
    const rows = [...this.querySelectorAll("[data-differs]")];
    const here = rows.findIndex((row) => row.classList.contains("is-here"));
    const next = here < 0 ? (step > 0 ? 0 : rows.length - 1) : (here + step + rows.length) % rows.length;
    rows[here]?.classList.remove("is-here");
    rows[next].classList.add("is-here");
    rows[next].scrollIntoView({ block: "nearest" });
    const place = { at: next + 1, of: rows.length, what: rows[next].dataset.differs };
    this.querySelector("[data-at]").textContent = interpolate(gettext("%(at)s of %(of)s: %(what)s"), place, true);
  }
}

customElements.define("diff-walk", DiffWalk);
