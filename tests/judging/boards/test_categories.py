"""A board shows its contestants in each category of prompts: by the votes on those prompts alone, or says why not."""

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
from judging.boards import BoardSettings, keep, votes_in_categories
from judging.boards.report import by_category
from judging.boards.report.by_category import SHOWN_AT_MOST
from judging.models import ChosenPrompt, Tournament
from judging.stats.ratings import RatingOptions, Resampling, board
from judging.stats.votes import Outcome, Votes
from judging.voting import drawn
from runs.models import Experiment, Prompt
from tests.judging.bulk_verdicts import cast, once
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import answered_run, held, rubric
from tests.runs.api_client import calls

BIG, SMALL = "Drugs", "Violence"
KINDS = ((BIG, SMALL), (BIG,), ())


def voted(prompts: int = 60, few: int = 25) -> Votes:
    """Votes on prompts of which the first `few` are of both, further 20 of the big one, and the others of none."""
    made = invented(900, contestants=4, prompts=prompts)
    return replace(made, kinds=KINDS, kind=np.digitize(made.prompt, [few, few + 20]))


def test_each_category_is_rated_by_the_votes_on_its_prompts_alone() -> None:
    votes = voted()
    found = by_category(votes, RatingOptions(anchor="model-0", init=1200))
    assert found is not None
    assert [(one.category, one.prompts) for one in found.shown] == [(BIG, 45), (SMALL, 25)]
    for one, mask in zip(found.shown, (votes.kind < 2, votes.kind == 0), strict=True):
        alone = board(votes.where(mask), RatingOptions(init=1200, resampling=Resampling(resamples=found.resamples)))
        standing = {who.contestant: who for who in alone.standings}
        assert [cell.rating for cell in one.cells] == [standing[name].rating for name in votes.contestants]
        assert [cell.record for cell in one.cells] == [standing[name].record for name in votes.contestants]
        assert sum(cell.record.votes for cell in one.cells) == 2 * one.votes == 2 * mask.sum()
        assert one.why == ()
    assert found.none == (15, int((votes.kind == 2).sum()))


def test_a_category_of_few_prompts_gives_no_number() -> None:
    found = by_category(voted(few=4), RatingOptions())
    assert found is not None
    one = next(one for one in found.shown if one.category == SMALL)
    assert one.prompts == 4
    assert one.why == ("It has 4 judged prompts, and less than 5 say nothing of how sure they are.",)
    assert {cell.rating for cell in one.cells} == {None}
    assert all(cell.record.votes > 0 for cell in one.cells)


def test_where_not_everybody_can_be_compared_nobody_has_a_number_and_it_says_why() -> None:
    votes = voted()
    lost = (votes.kind == 0) & ((votes.a == 3) | (votes.b == 3))
    found = by_category(
        replace(votes, outcome=np.where(lost, np.where(votes.a == 3, 1, 0), votes.outcome)), RatingOptions()
    )
    assert found is not None
    big, small = found.shown
    assert "model-3 lost every comparison" in small.why[0]
    assert {cell.rating for cell in small.cells} == {None}
    assert None not in {cell.rating for cell in big.cells}


def test_what_failed_counts_nowhere_and_without_categories_there_is_nothing() -> None:
    votes = voted()
    failed = replace(votes, outcome=np.where(votes.kind == 0, Outcome.ERROR, votes.outcome))
    found = by_category(failed, RatingOptions())
    assert found is not None
    assert [(one.category, one.prompts) for one in found.shown] == [(BIG, 20)]
    assert by_category(invented(50), RatingOptions()) is None


def test_of_many_categories_those_with_most_votes_are_shown_and_the_others_counted() -> None:
    votes = invented(400, contestants=3, prompts=60)
    many = tuple((f"kind {k:02}", "all") for k in range(60))
    found = by_category(
        replace(votes, kinds=many, kind=votes.prompt), RatingOptions(resampling=Resampling(resamples=2))
    )
    assert found is not None
    assert (len(found.shown), len(found.others)) == (SHOWN_AT_MOST, 61 - SHOWN_AT_MOST)
    assert found.shown[0].category == "all"
    assert min(one.votes for one in found.shown) >= max(votes for _, _, votes in found.others)


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Twelve prompts: eight of one category, of which two are of another too; four of none."""
    answered_run(experiment, "asks all of them", [""] * 12)
    ordered = drawn(sorted(Prompt.objects.values_list("pk", flat=True)), 12, seed=7)
    Prompt.objects.filter(pk__in=ordered[:8]).update(categories=[BIG])
    Prompt.objects.filter(pk__in=ordered[:2]).update(categories=[BIG, SMALL])
    made = held(ada, experiment, prompts=12, contestants=4, seed=7)
    cast(made, rubric("helpfulness"), once(invented(150, contestants=4, prompts=12)))
    return made


@pytest.mark.django_db
def test_a_tournament_has_the_categories_that_its_prompts_had_when_it_was_made(tournament: Tournament) -> None:
    assert boards.categories(tournament) == {BIG: 8, SMALL: 2}
    Prompt.objects.update(categories=["learnt later"])
    assert boards.categories(tournament) == {BIG: 8, SMALL: 2}
    assert set(boards.votes_in(tournament, rubric("helpfulness")).categories) == {BIG, SMALL, ""}


@pytest.mark.django_db
def test_they_are_kept_with_the_board_of_all_prompts(tournament: Tournament) -> None:
    kept = keep(tournament, rubric("helpfulness"))
    alone = keep(tournament, rubric("helpfulness"), BoardSettings(category=BIG))
    big, small = kept.board["categories"]["shown"]
    assert (big["category"], big["votes"], small["prompts"]) == (BIG, alone.votes, 2)
    ratings = {one["contestant"]: one["rating"]["value"] for one in alone.board["board"]["standings"]}
    shown = {name: cell["rating"]["value"] for name, cell in zip(kept.board["contestants"], big["cells"], strict=True)}
    assert shown == pytest.approx(ratings)
    assert alone.board["categories"] is None
    assert votes_in_categories(tournament, rubric("helpfulness")) == {BIG: big["votes"], SMALL: small["votes"]}


@pytest.mark.django_db
def test_a_board_that_an_older_version_kept_gains_them_under_the_same_hash(tournament: Tournament) -> None:
    kept = keep(tournament, rubric("helpfulness"))
    del kept.board["categories"]
    kept.save()
    again = keep(tournament, rubric("helpfulness"))
    again.refresh_from_db()
    assert (again.pk, again.digest) == (kept.pk, kept.digest)
    assert again.board["categories"]["shown"]


@pytest.mark.django_db
def test_the_page_shows_them_beside_the_whole_and_says_where_there_is_too_little(
    ada_client: Client, tournament: Tournament
) -> None:
    address = f"/judging/{tournament.pk}/board/"
    assert "by-category" not in ada_client.get(address).content.decode()
    kept = keep(tournament, rubric("helpfulness"))
    html = ada_client.get(address).content.decode()
    (panel,) = re.findall(r'<section class="panel" id="by-category".*?</section>', html, re.DOTALL)
    said = " ".join(re.sub(r"<[^>]+>", " ", panel).split())
    big, small = kept.board["categories"]["shown"]
    for cell in big["cells"]:
        assert f"{cell['rating']['value']:.0f}" in said
        assert f"n {cell['record']['votes']:g}" in said
    assert "4 have none" in said
    assert "8 prompts" in said and "few prompts" in said
    assert "no ratings" in said and "Violence : fewer than 5 of its prompts were judged" in said
    assert re.search(r"– won \d+", said)
    assert f"?criterion=helpfulness&amp;category={BIG}" in panel
    assert f'<option value="{BIG}">{BIG} (8 prompts, {big["votes"]} verdicts)' in html
    assert small["votes"] > 0


@pytest.mark.django_db
def test_a_category_that_no_prompt_has_is_refused_with_those_there_are(
    ada: User, ada_client: Client, tournament: Tournament
) -> None:
    page = ada_client.get(f"/judging/{tournament.pk}/board/?category=Drgs")
    assert page.status_code == 404
    assert "category must be one of Drugs, Violence, not &#x27;Drgs&#x27;" in page.content.decode()
    answer = calls(ada, "read").get(f"/api/v1/tournaments/{tournament.pk}/board?category=Drgs")
    assert answer.status_code == 422 and "category must be one of Drugs, Violence" in answer.content.decode()
    ChosenPrompt.objects.update(categories=[])
    page = ada_client.get(f"/judging/{tournament.pk}/board/?category=Drugs").content.decode()
    assert "category must be left out: no prompt here has one" in page


@pytest.mark.django_db
def test_they_are_downloaded_with_every_digit(ada_client: Client, tournament: Tournament) -> None:
    kept = keep(tournament, rubric("helpfulness"))
    address = f"/judging/{tournament.pk}/board/file/?as=csv&table=categories"
    rows = list(csv.DictReader(io.StringIO(ada_client.get(address).content.decode())))
    assert len(rows) == 8
    big, small = kept.board["categories"]["shown"]
    assert [float(row["rating"]) for row in rows[:4]] == [cell["rating"]["value"] for cell in big["cells"]]
    assert {row["why_none"] for row in rows[4:]} == {small["why"][0]}
    assert [row["rating"] for row in rows[4:]] == [""] * 4
