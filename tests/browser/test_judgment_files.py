"""Judgments in a browser: a file is dropped, read, taken along and read again; in the dark and on a phone too."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from judging.boards import votes_in
from judging.models import Tournament
from judging.stats.ratings import board
from tests.browser.axe import find_faults
from tests.browser.page_idle import over_the_edge

DROP = """(drop, text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], "paper.jsonl"));
  drop.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
}"""
SHOTS = os.environ.get("ESWEB_SHOTS", "")


def rows() -> str:
    models = ["ES-500", "GRPO-200", "Base"]
    said = {"dimension": "helpfulness"}
    judged = [
        said | {"model_a": a, "model_b": b, "prompt_id": n, "winner": "tie" if n % 3 == 0 else "model_a"}
        for n in range(30)
        for a, b in pairwise(models)
    ]
    return "\n".join([*map(json.dumps, judged), "{", '{"model_a": "ES-500"}'])


@pytest.fixture
def looked(signed_in: Page) -> Page:
    signed_in.set_viewport_size({"width": 1440, "height": 900})
    return signed_in


def look(page: Page, name: str) -> None:
    """Wide and light, narrow and dark: no fault, and nothing hangs over the edge."""
    for width, scheme in ((1440, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == []
        assert over_the_edge(page, width) == ""
        if SHOTS:
            page.screenshot(path=f"{SHOTS}/{name}-{width}.png", full_page=True)
    page.set_viewport_size({"width": 1440, "height": 900})


def test_a_file_is_dropped_taken_along_and_gives_the_same_board_again(
    looked: Page, address: str, ada: User, tmp_path: Path
) -> None:
    looked.goto(address + reverse("judgments-import"))
    looked.locator("file-drop").evaluate(DROP, rows())
    expect(looked.get_by_text("1 file, 0.0 MB")).to_be_visible()
    look(looked, "import")
    looked.get_by_role("button", name="Import", exact=True).click()
    expect(looked.get_by_text("60 judgments read in paper: 60 new; 2 rows not understood.")).to_be_visible()
    expect(looked.get_by_text("paper.jsonl, line 62: has neither scores nor winner")).to_be_visible()
    look(looked, "imported")

    looked.get_by_role("link", name="Open paper").click()
    expect(looked.get_by_text("60 judgments imported, not calibrated here")).to_be_visible()
    look(looked, "tournament")
    looked.get_by_role("link", name="Judgments as files").click()
    look(looked, "files")
    with looked.expect_download() as waited:
        looked.get_by_role("link", name="FastChat’s format").click()
    waited.value.save_as(tmp_path / "again.jsonl")

    looked.goto(address + reverse("judgments-import"))
    looked.set_input_files("#files", tmp_path / "again.jsonl")
    looked.get_by_role("button", name="Import", exact=True).click()
    expect(looked.get_by_text("60 judgments read in again: 60 new.")).to_be_visible()
    first, second = Tournament.objects.order_by("pk")
    hashes = {board(votes_in(one, one.rubrics.get())).hash for one in (first, second)}
    assert len(hashes) == 1
