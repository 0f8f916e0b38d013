"""The gate before a board: a judge is held against people's verdicts, and what it lacks is named."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging import judge_runs
from judging.judge_runs import calibration
from judging.judges import admitted, rules_judge, why_not
from judging.models import Calibration, Judge, Rubric, Tournament, Verdict
from tests.fakes.judge_server import Act, Asked, JudgeServer, verdict
from tests.judging.judge_factory import judge_at, on, worked
from tests.judging.tournament_factory import gold, rubric

pytestmark = pytest.mark.django_db


def good_wins(asked: Asked) -> Act:
    """As people said: in the gold set of these tests "good" is better than "bad"."""
    return Act(verdict(8, 2) if asked.answers[0] == "good" else verdict(2, 8))


def first_wins(asked: Asked) -> Act:
    """Whoever stands first."""
    return Act(verdict(8, 2))


def calibrated(server: JudgeServer, ada: User, pairs: int = 4, **changes: object) -> Calibration:
    judge = judge_at(server, ada, at_once=8)
    done = worked(on(judge, gold(ada, pairs), [rubric("helpfulness")], **changes))
    assert done.state == "done"
    return judge.calibrations.get()


def test_a_judge_that_goes_by_the_place_does_not(ada: User, server: JudgeServer) -> None:
    server.act = first_wins
    measured = calibrated(server, ada).measured
    assert measured["complaints"] == ["few", "chance", "swaps"] and measured["slot_share"]["value"] == 1.0


def test_few_pairs_one_order_and_many_failures_are_each_named(ada: User, server: JudgeServer) -> None:
    server.act = lambda asked: good_wins(asked) if asked.number % 2 else Act("")
    measured = calibrated(server, ada, both_orders=False).measured
    assert measured["complaints"] == ["few", "one_order", "missing"]


def test_only_what_passed_enters_a_board(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "LEAST_PAIRS", 6)
    judge = judge_at(server, ada, at_once=8)
    worked(on(judge, tournament, rubrics))
    judge_runs.judge_all(tournament, rules_judge())
    verdicts, (only,) = Verdict.objects.rating(), rubrics
    assert verdicts.filter(judge=judge).count() == 8
    assert not admitted(verdicts).filter(judge=judge).exists() and "has not been held" in why_not(judge, only)
    server.act = good_wins
    worked(on(judge, gold(ada, 6), rubrics))
    found = judge.calibrations.get()
    assert found.passes and (found.measured["pairs"], found.measured["calls"], found.measured["missing"]) == (6, 12, 0)
    assert (found.measured["accuracy"]["value"], found.measured["swap_consistency"]) == (1.0, 1.0)
    assert found.measured["slot_share"]["value"] == 0.5 and found.measured["complaints"] == []
    assert admitted(verdicts).filter(judge=judge).count() == 8 and why_not(judge, only) == ""
    Calibration.objects.create(judge=judge, rubric=only, gold_set=found.gold_set, passes=False, measured={})
    assert not admitted(verdicts).filter(judge=judge).exists() and "did not agree well enough" in why_not(judge, only)


def test_a_judge_with_too_few_verdicts_of_a_tournament_enters_no_board_of_it(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    server.act = lambda asked: Act(refusal="No.") if asked.number == 0 else good_wins(asked)
    judge, (only,) = judge_at(server, ada), rubrics
    Calibration.objects.create(judge=judge, rubric=only, gold_set=gold(ada, 1), passes=True, measured={})
    worked(on(judge, tournament, rubrics))
    said = why_not(judge, only, tournament)
    assert "gave no verdict in 1 of 8 by" in said and why_not(judge, only, None) == ""
    assert not admitted(Verdict.objects.rating()).exists()


def test_the_judge_by_rules_judges_all_at_once_and_is_let_in_by_its_name(tournament: Tournament) -> None:
    judge = rules_judge()
    assert judge == rules_judge() and judge.name == "Rules (form alone)" and judge.kind == Judge.Kind.RULES
    assert judge_runs.judge_all(tournament, judge) == judge_runs.judge_all(tournament, judge) == 16
    found = admitted(Verdict.objects.rating())
    assert found.count() == 16 and Verdict.objects.count() == 16
    assert not found.filter(outcome__in=("error", "refused", "unparsed")).exists()


def test_a_judge_that_has_to_be_asked_judges_nothing_by_rules(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    with pytest.raises(judge_runs.NotByRules, match="has to be asked"):
        judge_runs.judge_all(tournament, judge_at(server, ada))
    with pytest.raises(judge_runs.CannotAsk, match="is asked nothing"):
        judge_runs.start(judge_runs.Order(rules_judge(), rubrics, 0, tournament), ada)  # type: ignore[arg-type]
