"""Judgments in a browser: a file is dropped, imported, exported and imported again; in dark mode and on a phone too."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from judging.boards import votes_in
from judging.models import Tournament
from judging.stats.ratings import compute_board
from tests.browser.axe import View, check_views

DROP = """(drop, text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], "paper.jsonl"));
  drop.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
}"""


def judgment_lines() -> str:
    models = ["ES-500", "GRPO-200", "Base"]
    dimension = {"dimension": "helpfulness"}
    judgments = [
        dimension | {"model_a": a, "model_b": b, "prompt_id": n, "winner": "tie" if n % 3 == 0 else "model_a"}
        for n in range(30)
        for a, b in pairwise(models)
    ]
    return "\n".join([*map(json.dumps, judgments), "{", '{"model_a": "ES-500"}'])


@pytest.fixture
def wide_page(signed_in: Page) -> Page:
    signed_in.set_viewport_size({"width": 1440, "height": 900})
    return signed_in


def test_exported_judgments_reproduce_the_same_board(
    wide_page: Page, address: str, ada: User, tmp_path: Path, views: tuple[View, ...]
) -> None:
    wide_page.goto(address + reverse("judgments-import"))
    wide_page.locator("file-drop").evaluate(DROP, judgment_lines())
    expect(wide_page.get_by_text(re.compile(r"1 file, [\d.]+\sKB"))).to_be_visible()
    wide_page.get_by_role("button", name="Import", exact=True).click()
    expect(wide_page.get_by_text("60 judgments read in paper: 60 new; 2 invalid rows.")).to_be_visible()
    expect(wide_page.get_by_text("paper.jsonl, line 62: has neither scores nor winner")).to_be_visible()
    assert check_views(wide_page, views) == "{}"
    wide_page.set_viewport_size({"width": 1440, "height": 900})

    wide_page.get_by_role("link", name="Open paper").click()
    expect(wide_page.get_by_text("60 judgments imported, not calibrated here")).to_be_visible()
    wide_page.get_by_role("link", name="Judgments as files").click()
    with wide_page.expect_download() as download:
        wide_page.get_by_role("link", name="FastChat’s format").click()
    download.value.save_as(tmp_path / "again.jsonl")

    wide_page.goto(address + reverse("judgments-import"))
    wide_page.set_input_files("#files", tmp_path / "again.jsonl")
    wide_page.get_by_role("button", name="Import", exact=True).click()
    expect(wide_page.get_by_text("60 judgments read in again: 60 new.")).to_be_visible()
    first, second = Tournament.objects.order_by("pk")
    hashes = {compute_board(votes_in(tournament, tournament.rubrics.get())).hash for tournament in (first, second)}
    assert len(hashes) == 1
