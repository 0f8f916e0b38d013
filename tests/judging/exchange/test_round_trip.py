"""An exported tournament that is read again gives the same boards, by hash; voters stay unnamed."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from judging.boards import votes_in
from judging.exchange import (
    ExportOptions,
    ExportRefused,
    File,
    ImportTarget,
    check_export,
    export_lines,
    import_judgment_files,
)
from judging.models import Calibration, Comparison, Contestant, Judge, Rubric, Side, Tournament, Verdict, Voter
from judging.stats.ratings import RatingOptions as BoardAsked
from judging.stats.ratings import Resampling, compute_board
from judging.stats.votes import Outcome, read_judgments, votes_by_criterion
from judging.voting import JudgeVerdict, save_judge_verdicts
from runs.models import Experiment
from tests.judging.bulk_verdicts import add_judge_verdicts, cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_gold_set, make_tournament, rubric

pytestmark = pytest.mark.django_db
RATING_OPTIONS = BoardAsked(resampling=Resampling(unit="both", resamples=50))


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Return a tournament with people's skips and changes, a judge that passed, rules, and a judge that failed."""
    tournament = make_tournament(ada, experiment, prompts=16, contestants=4, name="=Round trip")
    Contestant.objects.create(tournament=tournament, name="aa nobody met", place=9)
    by, other = rubric("helpfulness"), rubric("harmlessness")
    tournament.chosen_prompts.filter(place=2).update(categories=["law", "sport"])
    verdicts = cast(tournament, by, first_votes(make_random_votes(120, contestants=4, prompts=16)))
    Verdict.objects.filter(pk=verdicts[0].pk).update(outcome="skip", reason="unsure")
    Verdict.objects.filter(pk=verdicts[1].pk).update(replaced_at=timezone.now())
    Verdict.objects.filter(pk=verdicts[2].pk).update(outcome="both_bad")
    add_judge_verdicts(tournament, other)
    _add_scored_verdicts(ada, tournament, by, passes=True)
    _add_scored_verdicts(ada, tournament, by, passes=False)
    with connection.cursor() as sql:
        # Without statistics PostgreSQL joins hundreds of verdicts with themselves, row by row.
        sql.execute("ANALYZE judging_verdict, judging_comparison, judging_voter, judging_contestant, runs_response")
    return tournament


def _add_scored_verdicts(owner: User, tournament: Tournament, by: Rubric, *, passes: bool) -> None:
    """Add scores in both orders, each failed outcome once, and some verdicts against their own scores."""
    judge = Judge.objects.create(owner=owner, name=f"j {passes}", base_url="x", model="m", digest="0")
    pairs = list(Comparison.objects.filter(tournament=tournament, gold_pair=None).order_by("place"))
    calls = [
        JudgeVerdict(pair.pk, by.pk, first, Outcome((pair.place + n) % 3), (pair.place % 5 + 1.25, 3.0))
        for pair in pairs
        for n, first in enumerate(Side)
    ]
    odd = (Outcome.UNPARSED, Outcome.REFUSED, Outcome.ERROR, Outcome.BOTH_BAD)
    calls[:4] = [
        JudgeVerdict(call.comparison, by.pk, call.first, out, None if out != Outcome.BOTH_BAD else (2, 2))
        for call, out in zip(calls, odd, strict=False)
    ]
    calls += [JudgeVerdict(pair.pk, by.pk, side, Outcome.A, (9, 1), sample=1) for pair in pairs[:40] for side in Side]
    save_judge_verdicts(judge, calls)
    Calibration.objects.create(judge=judge, rubric=by, gold_set=make_gold_set(owner, 1), passes=passes, measured={})


def hashes(tournament: Tournament) -> list[str]:
    rubrics = tournament.rubrics.order_by("pk")
    return [compute_board(votes_in(tournament, rubric), RATING_OPTIONS).hash for rubric in rubrics]


def import_again(owner: User, text: str) -> Tournament:
    result = import_judgment_files([File("again.jsonl", io.BytesIO(text.encode()))], ImportTarget(owner, "again"))
    assert result.tournament is not None and not result.files[0].problems
    return result.tournament


def test_fastchat_export_gives_same_boards(ada: User, tournament: Tournament) -> None:
    text = "".join(export_lines(tournament, ExportOptions("fastchat")))
    imported = import_again(ada, text)
    assert hashes(imported) == hashes(tournament)
    judgments = read_judgments(text, "x").judgments
    names = ["helpfulness", "harmlessness"]
    assert [compute_board(votes_by_criterion(judgments, name), RATING_OPTIONS).hash for name in names] == hashes(
        tournament
    )
    once_more = "".join(export_lines(imported, ExportOptions("fastchat")))
    assert sorted(once_more.splitlines()) == sorted(text.splitlines())


def test_published_export_gives_same_boards_when_all_scored(ada: User, tournament: Tournament) -> None:
    with pytest.raises(ExportRefused, match="verdicts have a winner but no scores, as human verdicts have"):
        check_export(tournament, ExportOptions("published"))
    Verdict.objects.filter(score_a=None).exclude(outcome__in=("unparsed", "refused", "error")).delete()
    check_export(tournament, ExportOptions("published"))
    text = "".join(export_lines(tournament, ExportOptions("published")))
    assert hashes(import_again(ada, text))[0] == hashes(tournament)[0] and '"scores": null' in text


def test_verdicts_outside_boards_are_exported_only_on_request(tournament: Tournament) -> None:
    plain, every = ("".join(export_lines(tournament, ExportOptions("fastchat", every=all_))) for all_ in (False, True))
    assert '"j True"' in plain and '"j False"' not in plain and '"j False"' in every


def test_export_names_voters_only_on_request(tournament: Tournament) -> None:
    Voter.objects.filter(number=1).update(imported_name="secret name")
    for form in ("fastchat", "csv"):
        plain, named = ("".join(export_lines(tournament, ExportOptions(form, by_name=by))) for by in (False, True))
        assert "secret name" not in plain and "person 2" in plain and "secret name" in named


def test_csv_export_includes_skips_and_escapes_formulas(
    tournament: Tournament,
) -> None:
    Contestant.objects.filter(tournament=tournament, place=0).update(name="=cmd()")
    rows = list(csv.DictReader(io.StringIO("".join(export_lines(tournament, ExportOptions("csv"))))))
    assert [row["reason"] for row in rows if row["outcome"] == "skip"] == ["unsure"]
    assert {row["kind"] for row in rows} == {"person", "rules", "openai"}
    assert {row["a"][0] for row in rows if "cmd" in row["a"]} == {"'"}
    assert {row["category"] for row in rows} == {"", "law; sport"}


def test_response_lengths_survive_round_trip(ada: User, tournament: Tournament) -> None:
    text = "".join(export_lines(tournament, ExportOptions("fastchat")))
    assert json.loads(text.splitlines()[0])["lengths"] == [4, 4]
    there = import_again(ada, text.replace('"lengths": [4.0, 4.0]', '"lengths": [4.0, 2.0]', 1))
    length = votes_in(there, there.rubrics.order_by("pk")[0]).features["length"]
    assert abs(length[0]) == pytest.approx(1 / 3) and not length[1:].any()


def test_unknown_export_format_is_refused_with_choices(tournament: Tournament) -> None:
    with pytest.raises(ExportRefused, match="form must be one of published, fastchat, csv, not 'xml'"):
        check_export(tournament, ExportOptions("xml"))
