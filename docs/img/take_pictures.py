"""Take the pictures of the README from a site on which the demo has finished.

.venv/bin/python docs/img/take_pictures.py http://127.0.0.1:8000 .esweb/admin-password

Pictures are 1100 pixels wide, so that they can be read at the width of a README. The lines of the reckless presets are
labelled "hacked" in the picture; the page itself does not label them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
WIDTH = 1100
LABEL = """() => {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const lines = plot.data.filter((line) => /reckless/.test(line.name ?? "") && line.x?.length > 1);
    const annotations = lines.map((line, i) => ({
      x: line.x[Math.floor(line.x.length * 0.6)], y: line.y[Math.floor(line.y.length * 0.6)],
      text: "hacked", showarrow: true, arrowhead: 0, ax: 0, ay: -22 - 16 * i, font: { size: 12 },
    }));
    Plotly.relayout(plot, { annotations: [...(plot.layout.annotations ?? []), ...annotations] });
  }
}"""


def sign_in(page: Page, site: str, password: str) -> None:
    page.goto(f"{site}/login/")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", password)
    page.keyboard.press("Enter")
    page.wait_for_load_state("networkidle")


def take(page: Page, name: str, height: int) -> None:
    """Save the upper part of the page, after its charts are drawn."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)
    page.screenshot(path=HERE / f"{name}.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": height}, full_page=True)


def main(site: str, password_file: str) -> None:
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
        sign_in(page, site, Path(password_file).read_text(encoding="utf-8").strip())

        page.goto(f"{site}/experiments/")
        page.get_by_role("link", name="Concise").first.click()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1500)
        page.evaluate(LABEL)
        take(page, "experiment", 1400)
        runs = page.locator("a[href^='/runs/']").evaluate_all("links => links.map(link => link.pathname.split('/')[2])")
        query = "&".join(f"run={run}" for run in list(dict.fromkeys(runs))[:3])
        page.goto(f"{site}/responses/?{query}")
        take(page, "responses", 1000)
        page.goto(f"{site}/judging/")
        page.locator("a[href*='/board/']").first.click()
        take(page, "leaderboard", 1000)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"), sys.argv[2])
