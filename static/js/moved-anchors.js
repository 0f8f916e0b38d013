// <moved-anchors for="id">: the page's tabs were once one page, and links of that time still name its anchors. If the
// page lacks the anchor of its address, another tab of the element `for` opens: the one whose data-anchors lists it. A
// listed name that ends in "-" is the beginning of names.

class MovedAnchors extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    window.addEventListener("hashchange", () => this.openOwner(), { signal: this.stop.signal });
    this.openOwner();
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  openOwner() {
    const anchor = location.hash.slice(1);
    if (!anchor || document.getElementById(anchor)) return;
    const tabs = document.getElementById(this.getAttribute("for"));
    const owner = [...tabs.querySelectorAll("a[data-anchors]")].find((tab) => owns(tab, anchor));
    if (!owner || owner.ariaCurrent) return;
    // The old address leads nowhere, so Back must not return to it.
    location.replace(owner.href + location.search + location.hash);
  }
}

function owns(tab, anchor) {
  const names = tab.dataset.anchors.split(" ");
  return names.some((name) => name === anchor || (name.endsWith("-") && anchor.startsWith(name)));
}

customElements.define("moved-anchors", MovedAnchors);
