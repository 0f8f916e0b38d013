"""What a tournament writes and is read again gives the very same boards, by hash; people stay unnamed."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from judging.boards import votes_in
from judging.exchange import CannotWrite, ExportOptions, File, ImportTarget, bring_in, check, lines
from judging.models import Calibration, Comparison, Contestant, Judge, Rubric, Side, Tournament, Verdict, Voter
from judging.stats.ratings import RatingOptions as BoardAsked
from judging.stats.ratings import Resampling, board
from judging.stats.votes import Outcome, read, votes_of
from judging.voting import Judged, of_judge
from runs.models import Experiment
from tests.judging.bulk_verdicts import cast, once, ruled
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import gold, held, rubric

pytestmark = pytest.mark.django_db
ASKED = BoardAsked(resampling=Resampling(unit="both", resamples=50))


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Judged by people, who skipped and changed their minds, by a judge that passed, by rules, by one that failed."""
    made = held(ada, experiment, prompts=16, contestants=4, name="=Round trip")
    Contestant.objects.create(tournament=made, name="aa nobody met", place=9)
    by, other = rubric("helpfulness"), rubric("harmlessness")
    made.chosen_prompts.filter(place=2).update(categories=["law", "sport"])
    said = cast(made, by, once(invented(120, contestants=4, prompts=16)))
    Verdict.objects.filter(pk=said[0].pk).update(outcome="skip", reason="unsure")
    Verdict.objects.filter(pk=said[1].pk).update(replaced_at=timezone.now())
    Verdict.objects.filter(pk=said[2].pk).update(outcome="both_bad")
    ruled(made, other)
    _judged(ada, made, by, passes=True)
    _judged(ada, made, by, passes=False)
    with connection.cursor() as sql:
        # Without statistics PostgreSQL joins hundreds of verdicts with themselves, row by row.
        sql.execute("ANALYZE judging_verdict, judging_comparison, judging_voter, judging_contestant, runs_response")
    return made


def _judged(owner: User, tournament: Tournament, by: Rubric, *, passes: bool) -> None:
    """Scores, in both orders; with each thing that is no verdict once; some against their own scores."""
    judge = Judge.objects.create(owner=owner, name=f"j {passes}", base_url="x", model="m", digest="0")
    pairs = list(Comparison.objects.filter(tournament=tournament, gold_pair=None).order_by("place"))
    calls = [
        Judged(pair.pk, by.pk, first, Outcome((pair.place + n) % 3), (pair.place % 5 + 1.25, 3.0))
        for pair in pairs
        for n, first in enumerate(Side)
    ]
    odd = (Outcome.UNPARSED, Outcome.REFUSED, Outcome.ERROR, Outcome.BOTH_BAD)
    calls[:4] = [
        Judged(one.comparison, by.pk, one.first, out, None if out != Outcome.BOTH_BAD else (2, 2))
        for one, out in zip(calls, odd, strict=False)
    ]
    calls += [Judged(pair.pk, by.pk, side, Outcome.A, (9, 1), sample=1) for pair in pairs[:40] for side in Side]
    of_judge(judge, calls)
    Calibration.objects.create(judge=judge, rubric=by, gold_set=gold(owner, 1), passes=passes, measured={})


def hashes(tournament: Tournament) -> list[str]:
    rubrics = tournament.rubrics.order_by("pk")
    return [board(votes_in(tournament, one), ASKED).hash for one in rubrics]


def again(owner: User, text: str) -> Tournament:
    made = bring_in([File("again.jsonl", io.BytesIO(text.encode()))], ImportTarget(owner, "again"))
    assert made.tournament is not None and not made.files[0].problems
    return made.tournament


def test_fastchats_format_gives_the_same_boards_from_the_database_and_from_the_file(
    ada: User, tournament: Tournament
) -> None:
    text = "".join(lines(tournament, ExportOptions("fastchat")))
    there = again(ada, text)
    assert hashes(there) == hashes(tournament)
    judgments = read(text, "x").judgments
    names = ["helpfulness", "harmlessness"]
    assert [board(votes_of(judgments, one), ASKED).hash for one in names] == hashes(tournament)
    once_more = "".join(lines(there, ExportOptions("fastchat")))
    assert sorted(once_more.splitlines()) == sorted(text.splitlines())


def test_the_published_format_gives_the_same_boards_where_all_were_scored(ada: User, tournament: Tournament) -> None:
    with pytest.raises(CannotWrite, match="verdicts have a winner and no scores, as people's have"):
        check(tournament, ExportOptions("published"))
    Verdict.objects.filter(score_a=None).exclude(outcome__in=("unparsed", "refused", "error")).delete()
    check(tournament, ExportOptions("published"))
    text = "".join(lines(tournament, ExportOptions("published")))
    assert hashes(again(ada, text))[0] == hashes(tournament)[0] and '"scores": null' in text


def test_what_is_in_no_board_is_written_only_where_that_is_asked_for(tournament: Tournament) -> None:
    shown, every = ("".join(lines(tournament, ExportOptions("fastchat", every=all_))) for all_ in (False, True))
    assert '"j True"' in shown and '"j False"' not in shown and '"j False"' in every


def test_people_are_numbers_unless_their_names_are_asked_for(tournament: Tournament) -> None:
    Voter.objects.filter(number=1).update(imported_name="secret name")
    for form in ("fastchat", "csv"):
        plain, named = ("".join(lines(tournament, ExportOptions(form, by_name=by))) for by in (False, True))
        assert "secret name" not in plain and "person 2" in plain and "secret name" in named


def test_the_table_holds_what_was_passed_by_too_and_nothing_that_a_spreadsheet_would_run(
    tournament: Tournament,
) -> None:
    Contestant.objects.filter(tournament=tournament, place=0).update(name="=cmd()")
    rows = list(csv.DictReader(io.StringIO("".join(lines(tournament, ExportOptions("csv"))))))
    assert [row["reason"] for row in rows if row["outcome"] == "skip"] == ["unsure"]
    assert {row["kind"] for row in rows} == {"person", "rules", "openai"}
    assert {row["a"][0] for row in rows if "cmd" in row["a"]} == {"'"}
    assert {row["category"] for row in rows} == {"", "law; sport"}


def test_lengths_are_words_of_the_answers_and_survive(ada: User, tournament: Tournament) -> None:
    text = "".join(lines(tournament, ExportOptions("fastchat")))
    assert json.loads(text.splitlines()[0])["lengths"] == [4, 4]
    there = again(ada, text.replace('"lengths": [4.0, 4.0]', '"lengths": [4.0, 2.0]', 1))
    length = votes_in(there, there.rubrics.order_by("pk")[0]).features["length"]
    assert abs(length[0]) == pytest.approx(1 / 3) and not length[1:].any()


def test_a_form_that_is_none_names_those_that_are(tournament: Tournament) -> None:
    with pytest.raises(CannotWrite, match="form is one of published, fastchat, csv, not 'xml'"):
        check(tournament, ExportOptions("xml"))
