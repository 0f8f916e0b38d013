"""The gate before a board: a judge is compared with people's verdicts, and its failures are named."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging import judge_runs
from judging.judge_runs import calibration
from judging.judges import admitted_verdicts, exclusion_reason, rules_judge
from judging.models import Assignment, Calibration, Judge, Rubric, Tournament, Verdict
from tests.fakes.judge_server import JudgeRequest, JudgeServer, Reply, verdict
from tests.judging.judge_factory import assign, make_judge, work_until_done
from tests.judging.tournament_factory import make_gold_set, rubric

pytestmark = pytest.mark.django_db


def good_wins(request: JudgeRequest) -> Reply:
    """Judge like the gold set of these tests, in which "good" is better than "bad"."""
    return Reply(verdict(8, 2) if request.answers[0] == "good" else verdict(2, 8))


def first_wins(request: JudgeRequest) -> Reply:
    """Prefer the first answer."""
    return Reply(verdict(8, 2))


def calibrate(server: JudgeServer, ada: User, pairs: int = 4, **changes: object) -> Calibration:
    judge = make_judge(server, ada, at_once=8)
    done = work_until_done(assign(judge, make_gold_set(ada, pairs), [rubric("helpfulness")], **changes))
    assert done.state == "done"
    return judge.calibrations.get()


def test_judge_with_position_bias_fails_calibration(ada: User, server: JudgeServer) -> None:
    server.reply_to = first_wins
    measured = calibrate(server, ada).measured
    assert measured["complaints"] == ["few", "chance", "swaps"] and measured["slot_share"]["value"] == 1.0


def test_calibration_names_each_complaint(ada: User, server: JudgeServer) -> None:
    server.reply_to = lambda request: good_wins(request) if request.number % 2 else Reply("")
    measured = calibrate(server, ada, both_orders=False).measured
    assert measured["complaints"] == ["few", "one_order", "missing"]


def test_board_admits_only_judge_that_passed_calibration(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "MIN_PAIRS", 6)
    judge = make_judge(server, ada, at_once=8)
    work_until_done(assign(judge, tournament, rubrics))
    judge_runs.judge_all(tournament, rules_judge())
    verdicts, (only,) = Verdict.objects.rating(), rubrics
    assert verdicts.filter(judge=judge).count() == 8
    assert not admitted_verdicts(verdicts).filter(
        judge=judge
    ).exists() and "has not been calibrated" in exclusion_reason(judge, only)
    server.reply_to = good_wins
    work_until_done(assign(judge, make_gold_set(ada, 6), rubrics))
    newest = judge.calibrations.get()
    assert newest.passes and (newest.measured["pairs"], newest.measured["calls"], newest.measured["missing"]) == (
        6,
        12,
        0,
    )
    assert (newest.measured["accuracy"]["value"], newest.measured["swap_consistency"]) == (1.0, 1.0)
    assert newest.measured["slot_share"]["value"] == 0.5 and newest.measured["complaints"] == []
    assert admitted_verdicts(verdicts).filter(judge=judge).count() == 8 and exclusion_reason(judge, only) == ""
    Calibration.objects.create(judge=judge, rubric=only, gold_set=newest.gold_set, passes=False, measured={})
    assert not admitted_verdicts(verdicts).filter(
        judge=judge
    ).exists() and "failed its calibration" in exclusion_reason(judge, only)


def test_judge_with_missing_verdicts_is_not_admitted(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    server.reply_to = lambda request: Reply(refusal="No.") if request.number == 0 else good_wins(request)
    judge, (only,) = make_judge(server, ada), rubrics
    Calibration.objects.create(judge=judge, rubric=only, gold_set=make_gold_set(ada, 1), passes=True, measured={})
    work_until_done(assign(judge, tournament, rubrics))
    reason = exclusion_reason(judge, only, tournament)
    assert "gave no verdict in 1 of 8 cases by" in reason and exclusion_reason(judge, only, None) == ""
    assert not admitted_verdicts(Verdict.objects.rating()).exists()


def test_rules_judge_judges_all_comparisons_and_is_admitted(tournament: Tournament) -> None:
    judge = rules_judge()
    assert judge == rules_judge() and judge.name == "Rules (form alone)" and judge.kind == Judge.Kind.RULES
    assert judge_runs.judge_all(tournament, judge) == judge_runs.judge_all(tournament, judge) == 16
    verdicts = admitted_verdicts(Verdict.objects.rating())
    assert verdicts.count() == 16 and Verdict.objects.count() == 16
    assert not verdicts.filter(outcome__in=("error", "refused", "unparsed")).exists()


def test_model_judge_cannot_judge_by_rules(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    with pytest.raises(judge_runs.NotRulesJudge, match="is asked over HTTP"):
        judge_runs.judge_all(tournament, make_judge(server, ada))
    with pytest.raises(judge_runs.CannotAsk, match="has no assignments"):
        judge_runs.start(Assignment(judge=rules_judge(), tournament=tournament, cap=0, created_by=ada), rubrics)
