"""Admission to boards: each judge by its own newest calibration, and not by another's."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging.boards import DEFAULT_SETTINGS, verdicts_in
from judging.boards.votes import list_raters
from judging.judges import admitted_verdicts, exclusion_reason, exclusion_reasons
from judging.models import Calibration, Judge, Verdict
from runs.models import Experiment
from tests.judging.bulk_verdicts import add_judge_verdicts
from tests.judging.tournament_factory import make_gold_set, make_tournament, rubric

pytestmark = pytest.mark.django_db


def test_failed_judge_is_not_admitted_by_another_judges_calibration(ada: User, experiment: Experiment) -> None:
    tournament, helpful, harmless = make_tournament(ada, experiment), rubric("helpfulness"), rubric("harmlessness")
    good, bad = (Judge.objects.create(owner=ada, name=name, model="m", digest="0") for name in ("good", "bad"))
    for judge, passes in ((good, True), (bad, False)):
        Calibration.objects.create(
            judge=judge, rubric=helpful, gold_set=make_gold_set(ada, 1), passes=passes, measured={}
        )
        for by in (helpful, harmless):
            add_judge_verdicts(tournament, by, judge=judge)
    verdicts = admitted_verdicts(Verdict.objects.rating())
    assert {(verdict.judge, verdict.rubric) for verdict in verdicts.select_related("judge", "rubric")} == {
        (good, helpful)
    }
    assert not exclusion_reason(good, helpful) and exclusion_reason(bad, helpful) and exclusion_reason(good, harmless)
    reasons = exclusion_reasons([good, bad], [helpful, harmless], tournament)
    assert list(reasons) == [(good.pk, harmless.pk), (bad.pk, helpful.pk), (bad.pk, harmless.pk)]
    assert (
        reasons[bad.pk, helpful.pk] == exclusion_reason(bad, helpful) == (f"bad failed its calibration by {helpful}.")
    )


def test_failed_repetition_does_not_exclude_judge(ada: User, experiment: Experiment) -> None:
    tournament, helpful = make_tournament(ada, experiment), rubric("helpfulness")
    judge = Judge.objects.create(owner=ada, name="judge", model="m", digest="0")
    Calibration.objects.create(judge=judge, rubric=helpful, gold_set=make_gold_set(ada, 1), passes=True, measured={})
    add_judge_verdicts(tournament, helpful, judge=judge)
    for comparison in tournament.comparisons.all():
        Verdict.objects.create(comparison=comparison, rubric=helpful, judge=judge, outcome="error", first="a", sample=1)
    assert verdicts_in(tournament, helpful).count() == tournament.comparisons.count()
    assert not exclusion_reason(judge, helpful, tournament)


def test_admission_query_count_is_constant(
    ada: User, experiment: Experiment, django_assert_num_queries: object
) -> None:
    tournament, helpful = make_tournament(ada, experiment), rubric("helpfulness")
    for number in (1, 20):
        for k in range(number):
            judge = Judge.objects.create(owner=ada, name=f"judge {number} {k}", model="m", digest="0")
            add_judge_verdicts(tournament, helpful, judge=judge)
        with django_assert_num_queries(6):  # type: ignore[operator]
            raters = list_raters(tournament, helpful, DEFAULT_SETTINGS)
    assert len(raters) == 21 and all("has not been calibrated" in rater.reason for rater in raters)
