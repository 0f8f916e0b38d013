"""Label responses with the keyboard alone: verdict, kinds, save, skip and undo."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from runs.models import Experiment, Label
from tests.browser.axe import View, check_views
from tests.runs.labels.label_cases import make_set


def test_responses_are_labelled_and_undone_by_keys(
    signed_in: Page, address: str, experiment: Experiment, ada: User, views: tuple[View, ...]
) -> None:
    page, label_set = signed_in, make_set(experiment, ("Paris", "Rome", "<b>Oslo</b>"))
    heading = page.get_by_role("heading", level=1)
    page.goto(address + reverse("label-next", args=[label_set.pk]))
    assert check_views(page, views, scope="main") == "{}"
    for key in ("w", "1", "6", "9"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(heading).to_have_text("Response 2 of 3")
    # Of the kinds that exclude each other, the newest stays.
    assert Label.objects.get().kinds == ["special_tokens", "gibberish"]
    page.keyboard.press("s")
    expect(heading).to_have_text("Response 3 of 3")
    page.keyboard.press("z")
    expect(heading).to_have_text("Response 1 of 3")
    assert not Label.objects.current().exists()
    page.get_by_label("Note").focus()
    page.keyboard.type("rw 1")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    page.get_by_role("radio", name="right").focus()
    page.keyboard.press("r")
    page.keyboard.press("Enter")
    expect(heading).to_have_text("Response 2 of 3")
    assert Label.objects.current().get().note == "rw 1"
