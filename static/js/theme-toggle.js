// <theme-toggle>: system, light, dark. The choice lies in a cookie, so that the server renders it and no page flashes.

const THEMES = ["system", "light", "dark"];
const SIGNS = { system: "◐", light: "☀", dark: "☾" };
const WORDS = { system: gettext("system"), light: gettext("light"), dark: gettext("dark") };
const YEAR_SECONDS = 365 * 24 * 3600;

class ThemeToggle extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.button.addEventListener("click", () => this.choose(this.next()));
    this.system = matchMedia("(prefers-color-scheme: dark)");
    this.onSystem = () => document.dispatchEvent(new CustomEvent("theme-changed"));
    this.system.addEventListener("change", this.onSystem);
    this.show();
  }

  disconnectedCallback() {
    this.system.removeEventListener("change", this.onSystem);
  }

  get theme() {
    return document.documentElement.dataset.theme ?? "system";
  }

  next() {
    return THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
  }

  choose(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    document.cookie = `theme=${theme}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`;
    this.show();
    document.dispatchEvent(new CustomEvent("theme-changed"));
  }

  show() {
    this.button.textContent = SIGNS[this.theme];
    const said = { theme: WORDS[this.theme], next: WORDS[this.next()] };
    this.button.title = interpolate(gettext("Theme: %(theme)s"), said, true);
    this.button.setAttribute("aria-label", interpolate(gettext("Theme: %(theme)s. Switch to %(next)s"), said, true));
  }
}

customElements.define("theme-toggle", ThemeToggle);
