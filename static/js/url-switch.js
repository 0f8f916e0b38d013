// <url-switch for="id" name="log_wrap" value="off">: its button sets a parameter of the page's address, or removes it.
// While it is set, the element `for` has data-<name>="<value>", which the style sheet uses.

class UrlSwitch extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.button.addEventListener("click", () => this.toggle());
    this.show();
  }

  get isSet() {
    return new URL(location.href).searchParams.get(this.getAttribute("name")) === this.getAttribute("value");
  }

  toggle() {
    const address = new URL(location.href);
    if (this.isSet) address.searchParams.delete(this.getAttribute("name"));
    else address.searchParams.set(this.getAttribute("name"), this.getAttribute("value"));
    history.replaceState(history.state, "", address);
    this.show();
  }

  show() {
    const target = document.getElementById(this.getAttribute("for"));
    if (this.isSet) target.setAttribute(`data-${this.getAttribute("name")}`, this.getAttribute("value"));
    else target.removeAttribute(`data-${this.getAttribute("name")}`);
    this.button.setAttribute("aria-pressed", String(!this.isSet));
  }
}

customElements.define("url-switch", UrlSwitch);
