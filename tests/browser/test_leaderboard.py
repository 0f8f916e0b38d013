"""The leaderboard in a browser: another board is ordered, waited for, and read; in the dark and on a phone too."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from judging.boards import keep
from judging.boards.tasks import keep_boards
from runs.models import Experiment
from tests.browser.axe import find_faults
from tests.browser.page_idle import over_the_edge
from tests.judging.bulk_verdicts import cast, once
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import held, rubric


def test_a_board_is_read_made_otherwise_and_comes_by_itself(
    signed_in: Page, address: str, ada: User, experiment: Experiment
) -> None:
    tournament = held(ada, experiment, prompts=24, contestants=5)
    tournament.chosen_prompts.filter(place__lt=21).update(categories=["Economic crime", "source: web"])
    tournament.chosen_prompts.filter(place__lt=3).update(categories=["Drugs"])
    cast(tournament, rubric("helpfulness"), once(invented(600, contestants=5, prompts=24)))
    keep(tournament, rubric("helpfulness"))
    signed_in.goto(address + reverse("tournament-board", args=[tournament.pk]))
    expect(signed_in.locator("live-chart svg .errorbars")).to_have_count(1)
    expect(signed_in.get_by_role("region", name="Ratings per category").get_by_text("no ratings")).to_be_visible()
    assert find_faults(signed_in) == []

    signed_in.get_by_text("Made otherwise").click()
    signed_in.get_by_label("Ties").select_option("davidson")
    signed_in.get_by_role("button", name="Show this board").click()
    expect(signed_in.get_by_text("Waits its turn")).to_be_visible()
    keep_boards()
    expect(signed_in.get_by_text("Davidson's strengths")).to_be_visible()

    signed_in.set_viewport_size({"width": 390, "height": 844})
    signed_in.emulate_media(color_scheme="dark")
    assert find_faults(signed_in) == []
    assert over_the_edge(signed_in, 390) == ""
