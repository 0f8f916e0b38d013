// <main-menu>: a button and the popover that it opens. The browser opens, closes and focuses; this element sets the
// button's aria-expanded, and closes the menu of a page that is left: going back does not show it open.

class MainMenu extends HTMLElement {
  connectedCallback() {
    const [button, menu] = this.children;
    this.stop = new AbortController();
    const { signal } = this.stop;
    const show = (isOpen) => button.setAttribute("aria-expanded", String(isOpen));
    menu.addEventListener("toggle", ({ newState }) => show(newState === "open"), { signal });
    addEventListener("pagehide", () => menu.matches(":popover-open") && menu.hidePopover(), { signal });
    show(menu.matches(":popover-open"));
  }

  disconnectedCallback() {
    this.stop.abort();
  }
}

customElements.define("main-menu", MainMenu);
