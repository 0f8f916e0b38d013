"""Flags in a browser: dismiss one and undo it with the keyboard, keep the reason typed so far, set thresholds."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from runs.models import Experiment, Flag, FlagDismissal, FlagThresholds, Run
from tests.browser.axe import View, check_views
from tests.runs.flags.flag_cases import make_flagged_run


@pytest.fixture
def flagged(experiment: Experiment, runs_dir: object) -> Run:
    """Return a run with two open flags."""
    return make_flagged_run(experiment)


def open_form(page: Page, flag: Flag) -> None:
    """Open the form of a flag with the keyboard. The focus is then in the reason."""
    page.locator(f"#flag-dismiss-{flag.pk} > summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(f"#flag-{flag.pk}-reason")).to_be_focused()


def test_flag_is_dismissed_and_reopened_with_the_keyboard_and_a_refresh_keeps_the_reason_typed_so_far(
    signed_in: Page, address: str, flagged: Run, views: tuple[View, ...]
) -> None:
    page, flag = signed_in, Flag.objects.get(run=flagged, detector="empty")
    page.goto(f"{address}{flagged.get_absolute_url()}")
    open_form(page, flag)
    check_refresh(page, flag, flagged)
    page.locator(f"#flag-{flag.pk}-reason").fill("  ")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#flags .errors")).to_contain_text("State why this is no cheating")
    expect(page.locator(f"#flag-{flag.pk}-reason")).to_be_focused()
    assert check_views(page, views, scope="#flags") == "{}"
    page.keyboard.type("The task wants silence.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Dismissed the flag")
    assert FlagDismissal.objects.get().reason == "The task wants silence."
    page.locator(".flag-others > summary").first.focus()
    page.keyboard.press("Enter")
    assert check_views(page, views, scope="#flags") == "{}"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("is open again")


def check_refresh(page: Page, flag: Flag, flagged: Run) -> None:
    """Check that a refresh of the page keeps the reason that was typed so far, and the form open."""
    page.keyboard.type("The task")
    with page.expect_response(f"**{flagged.get_absolute_url()}"):
        page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:state'))")
    expect(page.locator(f"#flag-{flag.pk}-reason")).to_have_value("The task")
    expect(page.locator(f"#flag-{flag.pk}-reason")).to_be_visible()


def test_thresholds_are_set_with_enter(signed_in: Page, address: str, flagged: Run, views: tuple[View, ...]) -> None:
    page = signed_in
    page.goto(f"{address}{reverse('experiment-flags', args=[flagged.experiment_id])}")
    page.get_by_label("Threshold: Empty responses").fill("0.5")
    page.get_by_label("Off: Another language").check()
    page.get_by_label("Threshold: Empty responses").press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("is being checked again")
    assert check_views(page, views) == "{}"
    page.get_by_role("button", name="Reset Another language").click()
    expect(page.get_by_label("Off: Another language")).not_to_be_checked()
    assert FlagThresholds.objects.get(experiment=flagged.experiment_id).values == {"empty": 0.5}
