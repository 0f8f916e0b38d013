// <section-links>: of its links to parts of the page, the one to the section in view has aria-current. That is the
// section of the last used link or of the focus until it leaves the screen or the reader scrolls; otherwise the topmost
// section in view.

class SectionLinks extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    const links = [...this.querySelectorAll("a[href^='#']")];
    this.links = new Map(links.map((link) => [document.getElementById(link.hash.slice(1)), link]));
    this.inView = new Set();
    this.mark([...this.links.keys()][0]);
    this.addEventListener("click", ({ target }) => this.choose(this.sectionOf(target.closest("a"))), { signal });
    document.addEventListener("focusin", ({ target }) => this.choose(this.sectionAround(target)), { signal });
    for (const type of ["wheel", "touchmove"]) {
      document.addEventListener(type, () => this.forgetChoice(), { signal, passive: true });
    }
    // A reader looks at the upper half. What only reaches into its top is on its way out, or covered by the links.
    const rootMargin = "-15% 0px -50% 0px";
    this.observer = new IntersectionObserver((entries) => this.onIntersection(entries), { rootMargin });
    for (const section of this.links.keys()) this.observer.observe(section);
  }

  disconnectedCallback() {
    this.stop.abort();
    this.observer.disconnect();
  }

  sectionOf(link) {
    return [...this.links.keys()].find((section) => this.links.get(section) === link);
  }

  sectionAround(element) {
    return [...this.links.keys()].find((section) => section.contains(element));
  }

  choose(section) {
    if (!section) return;
    this.chosen = section;
    this.mark(section);
  }

  onIntersection(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.inView.add(target);
      else this.inView.delete(target);
    }
    if (!this.chosen || !isOnScreen(this.chosen)) this.forgetChoice();
  }

  forgetChoice() {
    this.chosen = undefined;
    const topmost = [...this.links.keys()].find((section) => this.inView.has(section));
    if (topmost) this.mark(topmost);
  }

  mark(current) {
    if (this.links.get(current).ariaCurrent) return;
    for (const [section, link] of this.links) {
      if (section === current) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
    scrollIntoRow(this.links.get(current));
  }
}

function isOnScreen(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return height > 0 && bottom > 0 && top < innerHeight;
}

/** Scrolls the row of links sideways, where it does not fit, until the link is visible. The page stays. */
function scrollIntoRow(link) {
  const row = link.parentElement;
  const [inner, outer] = [link.getBoundingClientRect(), row.getBoundingClientRect()];
  if (inner.left < outer.left) row.scrollLeft -= outer.left - inner.left;
  else if (inner.right > outer.right) row.scrollLeft += inner.right - outer.right;
}

customElements.define("section-links", SectionLinks);
