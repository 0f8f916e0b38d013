// <diff-navigator>: its buttons with data-step move to the next or previous row that differs and show which one it is. A row
// in a fold unfolds it. The focus stays on the button, so that the same key moves on.

class DiffNavigator extends HTMLElement {
  connectedCallback() {
    for (const button of this.querySelectorAll("[data-step]")) {
      button.addEventListener("click", () => this.move(Number(button.dataset.step)));
    }
  }

  move(step) {
    const rows = [...this.querySelectorAll("[data-differs]")];
    const current = rows.findIndex((row) => row.classList.contains("is-here"));
    const next = current < 0 ? (step > 0 ? 0 : rows.length - 1) : (current + step + rows.length) % rows.length;
    rows[current]?.classList.remove("is-here");
    rows[next].classList.add("is-here");
    rows[next].closest("details")?.setAttribute("open", "");
    rows[next].scrollIntoView({ block: "nearest" });
    const position = { at: next + 1, of: rows.length, what: rows[next].dataset.differs };
    this.querySelector("[data-at]").textContent = interpolate(gettext("%(at)s of %(of)s: %(what)s"), position, true);
  }
}

customElements.define("diff-navigator", DiffNavigator);
