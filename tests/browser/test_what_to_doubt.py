"""The page of what to doubt, as people read it: no serious fault, no sideways scroll, one click to the answers."""

from __future__ import annotations

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from runs.models import Experiment
from tests.browser.axe import find_faults
from tests.browser.page_idle import over_the_edge
from tests.judging.bulk_verdicts import cast, once, ruled
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import held, rubric


def test_it_reads_on_a_phone_and_leads_to_the_answers(
    signed_in: Page, address: str, ada: User, experiment: Experiment
) -> None:
    tournament, helpful = held(ada, experiment, prompts=6), rubric("helpfulness")
    cast(tournament, helpful, once(invented(90, contestants=3, prompts=6)))
    ruled(tournament, helpful)
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address + tournament.get_absolute_url())
    page.get_by_role("link", name="What to doubt").click()
    expect(page.get_by_role("heading", name="Contested comparisons")).to_be_visible()
    assert find_faults(page) == []
    page.emulate_media(color_scheme="dark")
    assert find_faults(page, "colours") == []
    assert over_the_edge(page, 390) == ""

    page.get_by_role("link", name="People against models").click()
    expect(page.get_by_text("Most people prefer one answer, most models the other.")).to_be_visible()
    page.locator("table.contested tbody th a").first.click()
    page.wait_for_url("**/responses/?run=**")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
