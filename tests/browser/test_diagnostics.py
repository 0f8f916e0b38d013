"""The diagnostics page: no serious fault, no sideways scroll, one click to the responses."""

from __future__ import annotations

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from runs.models import Experiment
from tests.browser.axe import find_axe_faults
from tests.browser.page_idle import find_overflow
from tests.judging.bulk_verdicts import add_judge_verdicts, cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric


def test_diagnostics_page_fits_phone_and_links_to_responses(
    signed_in: Page, address: str, ada: User, experiment: Experiment
) -> None:
    tournament, helpful = make_tournament(ada, experiment, prompts=6), rubric("helpfulness")
    cast(tournament, helpful, first_votes(make_random_votes(90, contestants=3, prompts=6)))
    add_judge_verdicts(tournament, helpful)
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address + tournament.get_absolute_url())
    page.get_by_role("link", name="Diagnostics").click()
    expect(page.get_by_role("heading", name="Contested comparisons")).to_be_visible()
    assert find_axe_faults(page) == []
    page.emulate_media(color_scheme="dark")
    assert find_axe_faults(page, "colours") == []
    assert find_overflow(page, 390) == ""

    page.get_by_role("link", name="Humans against models").click()
    expect(page.get_by_text("Most humans prefer one response, most models the other.")).to_be_visible()
    page.locator("table.contested tbody th a").first.click()
    page.wait_for_url("**/responses/?run=**")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
