"""The leaderboard in a browser: another board is requested, awaited and read; in dark mode and on a phone too."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from judging.boards import save_board
from judging.boards.tasks import update_boards
from runs.models import Experiment
from tests.browser.axe import find_axe_faults
from tests.browser.page_idle import find_overflow
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric


def test_leaderboard_updates_with_other_options(
    signed_in: Page, address: str, ada: User, experiment: Experiment
) -> None:
    tournament = make_tournament(ada, experiment, prompts=24, contestants=5)
    tournament.chosen_prompts.filter(place__lt=21).update(categories=["Economic crime", "source: web"])
    tournament.chosen_prompts.filter(place__lt=3).update(categories=["Drugs"])
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(600, contestants=5, prompts=24)))
    save_board(tournament, rubric("helpfulness"))
    signed_in.goto(address + reverse("tournament-board", args=[tournament.pk]))
    expect(signed_in.locator("live-chart svg .errorbars")).to_have_count(1)
    expect(signed_in.get_by_role("region", name="Ratings per category").get_by_text("no ratings")).to_be_visible()

    signed_in.get_by_role("heading", name="Options").click()
    signed_in.get_by_label("Ties", exact=True).select_option("davidson")
    signed_in.get_by_role("button", name="Show leaderboard").click()
    expect(signed_in.get_by_text("Queued")).to_be_visible()
    update_boards()
    expect(signed_in.get_by_text("Davidson's strengths")).to_be_visible()

    signed_in.set_viewport_size({"width": 390, "height": 844})
    signed_in.emulate_media(color_scheme="dark")
    assert find_axe_faults(signed_in) == []
    assert find_overflow(signed_in, 390) == ""
