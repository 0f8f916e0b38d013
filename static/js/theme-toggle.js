// <theme-toggle>: system, light, dark. The choice lies in a cookie, so that the server renders it and no page flashes.
// Paper is light.

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
    this.stop = new AbortController();
    addEventListener("beforeprint", () => this.lighten(), { signal: this.stop.signal });
    addEventListener("afterprint", () => this.wear(this.worn), { signal: this.stop.signal });
    this.show();
  }

  disconnectedCallback() {
    this.system.removeEventListener("change", this.onSystem);
    this.stop.abort();
  }

  get theme() {
    return document.documentElement.dataset.theme ?? "system";
  }

  next() {
    return THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
  }

  choose(theme) {
    document.cookie = `theme=${theme}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`;
    this.wear(theme);
    this.show();
  }

  wear(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new CustomEvent("theme-changed"));
  }

  /** Charts keep the colours that they were painted in: they are painted anew before the page is. */
  lighten() {
    this.worn = this.theme;
    this.wear("light");
    document.dispatchEvent(new CustomEvent("print-wanted"));
  }

  show() {
    this.button.textContent = SIGNS[this.theme];
    const said = { theme: WORDS[this.theme], next: WORDS[this.next()] };
    this.button.title = interpolate(gettext("Theme: %(theme)s"), said, true);
    this.button.setAttribute("aria-label", interpolate(gettext("Theme: %(theme)s. Switch to %(next)s"), said, true));
  }
}

customElements.define("theme-toggle", ThemeToggle);
