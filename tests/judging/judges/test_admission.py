"""Whose verdicts enter a board: each judge by its own newest calibration, and not by another's."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging.boards import USUAL, verdicts_in
from judging.boards.votes import speakers
from judging.judges import admitted, left_out, why_not
from judging.models import Calibration, Judge, Verdict
from runs.models import Experiment
from tests.judging.bulk_verdicts import ruled
from tests.judging.tournament_factory import gold, held, rubric

pytestmark = pytest.mark.django_db


def test_a_judge_that_failed_is_not_let_in_by_one_that_passed(ada: User, experiment: Experiment) -> None:
    tournament, helpful, harmless = held(ada, experiment), rubric("helpfulness"), rubric("harmlessness")
    good, bad = (Judge.objects.create(owner=ada, name=name, model="m", digest="0") for name in ("good", "bad"))
    for judge, passes in ((good, True), (bad, False)):
        Calibration.objects.create(judge=judge, rubric=helpful, gold_set=gold(ada, 1), passes=passes, measured={})
        for by in (helpful, harmless):
            ruled(tournament, by, judge=judge)
    found = admitted(Verdict.objects.rating())
    assert {(one.judge, one.rubric) for one in found.select_related("judge", "rubric")} == {(good, helpful)}
    assert not why_not(good, helpful) and why_not(bad, helpful) and why_not(good, harmless)
    said = left_out([good, bad], [helpful, harmless], tournament)
    assert list(said) == [(good.pk, harmless.pk), (bad.pk, helpful.pk), (bad.pk, harmless.pk)]
    assert said[bad.pk, helpful.pk] == why_not(bad, helpful) == "bad did not agree well enough with people by " + (
        f"{helpful}."
    )  # fmt: skip


def test_what_failed_when_it_was_asked_again_keeps_nobody_out(ada: User, experiment: Experiment) -> None:
    tournament, helpful = held(ada, experiment), rubric("helpfulness")
    judge = Judge.objects.create(owner=ada, name="judge", model="m", digest="0")
    Calibration.objects.create(judge=judge, rubric=helpful, gold_set=gold(ada, 1), passes=True, measured={})
    ruled(tournament, helpful, judge=judge)
    for one in tournament.comparisons.all():
        Verdict.objects.create(comparison=one, rubric=helpful, judge=judge, outcome="error", first="a", sample=1)
    assert verdicts_in(tournament, helpful).count() == tournament.comparisons.count()
    assert not why_not(judge, helpful, tournament)


def test_who_is_left_out_is_asked_as_often_for_many_judges_as_for_one(
    ada: User, experiment: Experiment, django_assert_num_queries: object
) -> None:
    tournament, helpful = held(ada, experiment), rubric("helpfulness")
    for number in (1, 20):
        for k in range(number):
            judge = Judge.objects.create(owner=ada, name=f"judge {number} {k}", model="m", digest="0")
            ruled(tournament, helpful, judge=judge)
        with django_assert_num_queries(6):  # type: ignore[operator]
            found = speakers(tournament, helpful, USUAL)
    assert len(found) == 21 and all("has not been held against" in one.why for one in found)
