// The full-screen button of each chart: a button[data-fullscreen] in a section.chart. Escape leaves the full screen too.

const LABELS = { on: gettext("Exit full screen"), off: gettext("Full screen") };

document.addEventListener("click", ({ target }) => {
  const section = target.closest("[data-fullscreen]")?.closest(".chart");
  if (!section) return;
  if (document.fullscreenElement) document.exitFullscreen();
  else section.requestFullscreen().catch(() => showState());
});

function showState() {
  for (const button of document.querySelectorAll(".chart [data-fullscreen]")) {
    const isOn = button.closest(".chart") === document.fullscreenElement;
    const heading = document.getElementById(button.closest(".chart").getAttribute("aria-labelledby"));
    const label = LABELS[isOn ? "on" : "off"];
    button.setAttribute("aria-label", `${label}: ${heading?.textContent.trim() ?? ""}`);
    button.title = label;
  }
}

document.addEventListener("fullscreenchange", showState);
// Some phones show only videos on the full screen.
document.documentElement.classList.toggle("no-fullscreen", !document.fullscreenEnabled);
