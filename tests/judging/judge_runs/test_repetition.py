"""One comparison in twenty is judged again: its cost, its measure of the judge, and that it rates nobody."""

from __future__ import annotations

from itertools import count

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging import judge_runs
from judging.boards import votes_in
from judging.judge_runs import questions
from judging.models import Assignment, Calibration, Judge, Tournament, Verdict
from runs.models import Experiment
from tests.fakes.judge_server import JudgeServer, Reply, verdict
from tests.judging.judge_factory import assign, make_judge, work_until_done
from tests.judging.tournament_factory import make_gold_set, make_tournament, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Return a tournament of 24 comparisons, of which the first and the twenty-first are judged twice."""
    return make_tournament(ada, experiment, prompts=8, contestants=3)


@pytest.fixture
def small(ada: User, experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> Tournament:
    """Return a tournament of 6 comparisons, of which the first and the fifth are judged twice."""
    monkeypatch.setattr(questions, "TWICE_EVERY", 4)
    return make_tournament(ada, experiment, prompts=2, contestants=3)


def judge_twice(server: JudgeServer, ada: User, tournament: Tournament) -> Judge:
    judge = make_judge(server, ada, at_once=1)
    work_until_done(assign(judge, tournament, [rubric("helpfulness")], asks_twice=True))
    return judge


def test_repeated_answers_are_saved_but_not_rated(
    server: JudgeServer, ada: User, small: Tournament, ada_client: Client
) -> None:
    server.reply_to = lambda _: Reply(verdict(9, 1))
    judge = judge_twice(server, ada, small)
    helpful = rubric("helpfulness")
    assert len(server.requests) == 2 * (6 + 2) == judge.assignments.get().planned
    assert Verdict.objects.filter(judge=judge, sample=1).count() == 4

    (repetition,) = judge_runs.measure_repeats(judge, Tournament.objects.all())
    assert (repetition.rubric, repetition.repeated, repetition.judged, repetition.alike.value) == (helpful, 4, 4, 1.0)
    page = ada_client.get(reverse("judge", args=[judge.pk])).content.decode()
    assert "Consistency on repeated questions" in page

    Calibration.objects.create(judge=judge, rubric=helpful, gold_set=make_gold_set(ada), passes=True, measured={})
    assert len(votes_in(small, helpful)) == 12


def test_repetition_counts_changed_and_missing_verdicts_apart(
    server: JudgeServer, ada: User, small: Tournament
) -> None:
    number = count()
    replies = [verdict(9, 1), verdict(1, 9), verdict(9, 1), "I will not say."]
    server.reply_to = lambda _: Reply(replies[k] if (k := next(number)) < len(replies) else verdict(9, 1))
    judge = judge_twice(server, ada, small)
    (repetition,) = judge_runs.measure_repeats(judge, Tournament.objects.all())
    assert repetition.repeated == 4 and repetition.judged == 3
    assert repetition.alike.value == pytest.approx(2 / 3)
    assert judge_runs.measure_repeats(judge, Tournament.objects.none()) == []


def test_estimate_includes_repeated_calls(server: JudgeServer, ada: User, tournament: Tournament) -> None:
    judge, by = make_judge(server, ada), [rubric("helpfulness"), rubric("harmlessness")]
    once, twice = (
        judge_runs.estimate(Assignment(judge=judge, tournament=tournament, asks_twice=again), by)
        for again in (False, True)
    )
    assert (once.calls, twice.calls) == (2 * 2 * 24, 2 * 2 * 26)
    assert once.likely.amount < twice.likely.amount < once.likely.amount * 2
    assert once.at_most < twice.at_most
    assert judge_runs.estimate(Assignment(judge=judge, tournament=tournament, samples=3), by).calls == 3 * once.calls
