"""Boards of each category of prompts: from the votes on those prompts alone, or with a reason for missing ratings."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

from judging import boards
from judging.boards import BoardSettings, save_board, votes_in_categories
from judging.boards.report import rate_by_category
from judging.boards.report.by_category import MAX_CATEGORIES
from judging.models import ChosenPrompt, Tournament
from judging.stats.ratings import RatingOptions, Resampling, compute_board
from judging.stats.votes import Outcome, Votes
from judging.voting import draw_sample
from runs.models import Experiment, Prompt
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import answered_run, make_tournament, rubric
from tests.runs.api_client import calls

BIG, SMALL = "Drugs", "Violence"
KINDS = ((BIG, SMALL), (BIG,), ())


def make_votes(prompts: int = 60, few: int = 25) -> Votes:
    """Return votes: the first `few` prompts are of both categories, 20 more of the big one, the others of none."""
    votes = make_random_votes(900, contestants=4, prompts=prompts)
    return replace(votes, kinds=KINDS, kind=np.digitize(votes.prompt, [few, few + 20]))


def test_category_is_rated_only_by_votes_on_its_prompts() -> None:
    votes = make_votes()
    report = rate_by_category(votes, RatingOptions(anchor="model-0", init=1200))
    assert report is not None
    assert [(row.category, row.prompts) for row in report.shown] == [(BIG, 45), (SMALL, 25)]
    for row, mask in zip(report.shown, (votes.kind < 2, votes.kind == 0), strict=True):
        alone = compute_board(
            votes.select(mask), RatingOptions(init=1200, resampling=Resampling(resamples=report.resamples))
        )
        standings = {who.contestant: who for who in alone.standings}
        assert [cell.rating for cell in row.cells] == [standings[name].rating for name in votes.contestants]
        assert [cell.record for cell in row.cells] == [standings[name].record for name in votes.contestants]
        assert sum(cell.record.votes for cell in row.cells) == 2 * row.votes == 2 * mask.sum()
        assert row.why == ()
    assert report.none == (15, int((votes.kind == 2).sum()))


def test_category_of_few_prompts_has_no_ratings() -> None:
    report = rate_by_category(make_votes(few=4), RatingOptions())
    assert report is not None
    small = next(small for small in report.shown if small.category == SMALL)
    assert small.prompts == 4
    assert small.why == ("It has 4 judged prompts, and less than 5 say nothing of how sure they are.",)
    assert {cell.rating for cell in small.cells} == {None}
    assert all(cell.record.votes > 0 for cell in small.cells)


def test_category_has_no_ratings_when_contestants_cannot_be_compared() -> None:
    votes = make_votes()
    lost = (votes.kind == 0) & ((votes.a == 3) | (votes.b == 3))
    report = rate_by_category(
        replace(votes, outcome=np.where(lost, np.where(votes.a == 3, 1, 0), votes.outcome)), RatingOptions()
    )
    assert report is not None
    big, small = report.shown
    assert "model-3 lost every comparison" in small.why[0]
    assert {cell.rating for cell in small.cells} == {None}
    assert None not in {cell.rating for cell in big.cells}


def test_failed_votes_count_in_no_category() -> None:
    votes = make_votes()
    failed = replace(votes, outcome=np.where(votes.kind == 0, Outcome.ERROR, votes.outcome))
    report = rate_by_category(failed, RatingOptions())
    assert report is not None
    assert [(row.category, row.prompts) for row in report.shown] == [(BIG, 20)]
    assert rate_by_category(make_random_votes(50), RatingOptions()) is None


def test_categories_with_most_votes_are_listed_and_others_counted() -> None:
    votes = make_random_votes(400, contestants=3, prompts=60)
    many = tuple((f"kind {k:02}", "all") for k in range(60))
    report = rate_by_category(
        replace(votes, kinds=many, kind=votes.prompt), RatingOptions(resampling=Resampling(resamples=2))
    )
    assert report is not None
    assert (len(report.shown), len(report.others)) == (MAX_CATEGORIES, 61 - MAX_CATEGORIES)
    assert report.shown[0].category == "all"
    assert min(row.votes for row in report.shown) >= max(votes for _, _, votes in report.others)


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Twelve prompts: eight of one category, of which two are of another too; four of none."""
    answered_run(experiment, "asks all of them", [""] * 12)
    ordered = draw_sample(sorted(Prompt.objects.values_list("pk", flat=True)), 12, seed=7)
    Prompt.objects.filter(pk__in=ordered[:8]).update(categories=[BIG])
    Prompt.objects.filter(pk__in=ordered[:2]).update(categories=[BIG, SMALL])
    tournament = make_tournament(ada, experiment, prompts=12, contestants=4, seed=7)
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(150, contestants=4, prompts=12)))
    return tournament


@pytest.mark.django_db
def test_a_tournament_has_the_categories_that_its_prompts_had_when_it_was_made(tournament: Tournament) -> None:
    assert boards.categories(tournament) == {BIG: 8, SMALL: 2}
    Prompt.objects.update(categories=["learnt later"])
    assert boards.categories(tournament) == {BIG: 8, SMALL: 2}
    assert set(boards.votes_in(tournament, rubric("helpfulness")).categories) == {BIG, SMALL, ""}


@pytest.mark.django_db
def test_categories_are_saved_with_board_of_all_prompts(tournament: Tournament) -> None:
    snapshot = save_board(tournament, rubric("helpfulness"))
    alone = save_board(tournament, rubric("helpfulness"), BoardSettings(category=BIG))
    big, small = snapshot.board["categories"]["shown"]
    assert (big["category"], big["votes"], small["prompts"]) == (BIG, alone.votes, 2)
    ratings = {standing["contestant"]: standing["rating"]["value"] for standing in alone.board["board"]["standings"]}
    cells = {
        name: cell["rating"]["value"] for name, cell in zip(snapshot.board["contestants"], big["cells"], strict=True)
    }
    assert cells == pytest.approx(ratings)
    assert alone.board["categories"] is None
    assert votes_in_categories(tournament, rubric("helpfulness")) == {BIG: big["votes"], SMALL: small["votes"]}


@pytest.mark.django_db
def test_older_snapshot_gains_categories_under_same_hash(tournament: Tournament) -> None:
    snapshot = save_board(tournament, rubric("helpfulness"))
    del snapshot.board["categories"]
    snapshot.save()
    again = save_board(tournament, rubric("helpfulness"))
    again.refresh_from_db()
    assert (again.pk, again.digest) == (snapshot.pk, snapshot.digest)
    assert again.board["categories"]["shown"]


@pytest.mark.django_db
def test_board_page_lists_categories_and_reasons_for_missing_ratings(
    ada_client: Client, tournament: Tournament
) -> None:
    address = f"/judging/{tournament.pk}/board/"
    assert "by-category" not in ada_client.get(address).content.decode()
    snapshot = save_board(tournament, rubric("helpfulness"))
    html = ada_client.get(address).content.decode()
    (panel,) = re.findall(r'<section class="panel" id="by-category".*?</section>', html, re.DOTALL)
    text = " ".join(re.sub(r"<[^>]+>", " ", panel).split())
    big, small = snapshot.board["categories"]["shown"]
    for cell in big["cells"]:
        assert f"{cell['rating']['value']:.0f}" in text
        assert f"n {cell['record']['votes']:g}" in text
    assert "4 prompts have none" in text
    assert "8 prompts" in text and "few prompts" in text
    assert "no ratings" in text and "Violence : fewer than 5 of its prompts were judged" in text
    assert re.search(r"– won \d+", text)
    assert f"?criterion=helpfulness&amp;category={BIG}" in panel
    assert f'<option value="{BIG}">{BIG} (8 prompts, {big["votes"]} verdicts)' in html
    assert small["votes"] > 0


@pytest.mark.django_db
def test_unknown_category_is_refused_with_valid_choices(ada: User, ada_client: Client, tournament: Tournament) -> None:
    page = ada_client.get(f"/judging/{tournament.pk}/board/?category=Drgs")
    assert page.status_code == 404
    assert "category must be one of Drugs, Violence, not &#x27;Drgs&#x27;" in page.content.decode()
    answer = calls(ada, "read").get(f"/api/v1/tournaments/{tournament.pk}/board?category=Drgs")
    assert answer.status_code == 422 and "category must be one of Drugs, Violence" in answer.content.decode()
    ChosenPrompt.objects.update(categories=[])
    page = ada_client.get(f"/judging/{tournament.pk}/board/?category=Drugs").content.decode()
    assert "category must be empty: no prompt of this tournament has one" in page


@pytest.mark.django_db
def test_category_table_download_has_full_precision(ada_client: Client, tournament: Tournament) -> None:
    snapshot = save_board(tournament, rubric("helpfulness"))
    address = f"/judging/{tournament.pk}/board/file/?as=csv&table=categories"
    rows = list(csv.DictReader(io.StringIO(ada_client.get(address).content.decode())))
    assert len(rows) == 8
    big, small = snapshot.board["categories"]["shown"]
    assert [float(row["rating"]) for row in rows[:4]] == [cell["rating"]["value"] for cell in big["cells"]]
    assert {row["why_none"] for row in rows[4:]} == {small["why"][0]}
    assert [row["rating"] for row in rows[4:]] == [""] * 4
