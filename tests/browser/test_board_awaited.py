"""Ratings that are being computed: the open page says so and shows them without a reload, once they are there."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from judging.boards.tasks import update_boards
from judging.models import Tournament
from judging.stats.votes import Outcome
from runs.models import Experiment
from tests.browser.axe import find_axe_faults
from tests.browser.page_idle import find_overflow
from tests.judging.bulk_verdicts import cast
from tests.judging.synthetic_votes import make_game_votes
from tests.judging.tournament_factory import make_tournament, rubric

MARK_PAGE = "window.isSamePage = true"
IS_SAME_PAGE = "window.isSamePage === true"


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=24, contestants=2)


def give_votes(tournament: Tournament, *outcomes: Outcome, first_prompt: int = 0) -> None:
    """Save one verdict of the same voter for each outcome, each on a prompt of its own."""
    games = make_game_votes(("a", "b"), *[(0, 1, outcome) for outcome in (*[Outcome.TIE] * first_prompt, *outcomes)])
    cast(tournament, rubric("helpfulness"), games.select(games.prompt >= first_prompt))


def open_board(page: Page, address: str, tournament: Tournament) -> None:
    page.goto(address + reverse("tournament-board", args=[tournament.pk]))
    page.evaluate(MARK_PAGE)


def test_first_board_of_a_one_sided_result_appears_by_itself(
    signed_in: Page, address: str, tournament: Tournament
) -> None:
    give_votes(tournament, *[Outcome.A] * 12)
    open_board(signed_in, address, tournament)
    expect(signed_in.get_by_text("The ratings are being computed: the first verdict")).to_be_visible()
    assert find_axe_faults(signed_in) == []

    update_boards()

    standings = signed_in.get_by_role("region", name="Standings")
    expect(standings.get_by_role("row", name="1. runner 0")).to_contain_text("76–100")
    expect(standings.get_by_role("row", name="2. runner 1")).to_contain_text("0–24")
    expect(signed_in.get_by_role("status").get_by_text("shows the ratings from 12 verdicts")).to_be_attached()
    expect(signed_in.locator("progress")).to_have_count(0)
    expect(signed_in.get_by_text("Collect more votes")).to_be_visible()
    assert signed_in.evaluate(IS_SAME_PAGE)
    signed_in.set_viewport_size({"width": 390, "height": 844})
    signed_in.emulate_media(color_scheme="dark")
    assert find_axe_faults(signed_in) == []
    assert find_overflow(signed_in, 390) == ""


def status_height(page: Page) -> float:
    """Return the height of the line above the leaderboard, in pixels: if it changes, all below moves."""
    return page.locator("#board-standing").evaluate("(line) => line.getBoundingClientRect().height")


def test_recomputed_board_replaces_the_one_on_the_page(signed_in: Page, address: str, tournament: Tournament) -> None:
    give_votes(tournament, *[Outcome.A] * 3)
    update_boards()
    tournament.closed_at = tournament.created_at.replace(year=2020)
    tournament.created_at = tournament.closed_at
    tournament.save()
    give_votes(tournament, Outcome.B, Outcome.A, first_prompt=3)
    open_board(signed_in, address, tournament)
    expect(signed_in.get_by_text("2 newer verdicts are not included")).to_be_visible()
    signed_in.get_by_role("button", name="Compute it now").click()
    expect(signed_in.get_by_text("Queued, requested")).to_be_visible()
    signed_in.evaluate(MARK_PAGE)
    height = status_height(signed_in)
    signed_in.get_by_role("heading", name="Options").click()
    signed_in.get_by_label("Ties", exact=True).select_option("davidson")

    update_boards()

    expect(signed_in.get_by_text("UTC) from 5 verdicts")).to_be_visible()
    expect(signed_in.get_by_role("columnheader", name="Rating", exact=True).first).to_be_visible()
    expect(signed_in.get_by_label("Ties", exact=True)).to_have_value("davidson")
    assert signed_in.locator("#board-standing").get_attribute("hx-trigger") is None
    assert status_height(signed_in) == height
    assert signed_in.evaluate(IS_SAME_PAGE)


def test_page_of_tournament_shows_its_leader_by_itself(signed_in: Page, address: str, tournament: Tournament) -> None:
    signed_in.goto(address + tournament.get_absolute_url())
    signed_in.evaluate(MARK_PAGE)
    leaderboard = signed_in.get_by_role("region", name="Leaderboard")
    expect(leaderboard).to_contain_text("No votes yet")
    give_votes(tournament, *[Outcome.B] * 12)
    expect(leaderboard).to_contain_text("The ratings are being computed")
    update_boards()
    expect(leaderboard).to_contain_text("runner 1 · step 0 · eval won all of its 12 votes")
    assert leaderboard.get_attribute("hx-get") is None
    assert signed_in.evaluate(IS_SAME_PAGE)
