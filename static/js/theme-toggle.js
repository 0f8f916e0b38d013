// <theme-toggle>: system, light, dark. A cookie stores the choice, so that the server renders it and pages do not flash.
// Pages print in the light theme.

const THEMES = ["system", "light", "dark"];
const SIGNS = { system: "◐", light: "☀", dark: "☾" };
const LABELS = { system: gettext("system"), light: gettext("light"), dark: gettext("dark") };
const YEAR_SECONDS = 365 * 24 * 3600;

class ThemeToggle extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.button.addEventListener("click", () => this.choose(this.next()));
    this.system = matchMedia("(prefers-color-scheme: dark)");
    this.onSystem = () => document.dispatchEvent(new CustomEvent("theme-changed"));
    this.system.addEventListener("change", this.onSystem);
    this.stop = new AbortController();
    addEventListener("beforeprint", () => this.onBeforePrint(), { signal: this.stop.signal });
    addEventListener("afterprint", () => this.apply(this.screenTheme), { signal: this.stop.signal });
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
    this.apply(theme);
    this.show();
  }

  apply(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new CustomEvent("theme-changed"));
  }

  /** Switches to light and has charts drawn again: they keep the colours in which they were painted. */
  onBeforePrint() {
    this.screenTheme = this.theme;
    this.apply("light");
    document.dispatchEvent(new CustomEvent("theme-print"));
  }

  show() {
    this.button.textContent = SIGNS[this.theme];
    const labels = { theme: LABELS[this.theme], next: LABELS[this.next()] };
    this.button.title = interpolate(gettext("Theme: %(theme)s"), labels, true);
    this.button.setAttribute("aria-label", interpolate(gettext("Theme: %(theme)s. Switch to %(next)s"), labels, true));
  }
}

customElements.define("theme-toggle", ThemeToggle);
