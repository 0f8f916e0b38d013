"""One comparison in twenty is asked again: what that costs, what it tells of the judge, and that it rates nobody."""

from __future__ import annotations

from itertools import count

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging import judge_runs
from judging.boards import votes_in
from judging.judge_runs import questions
from judging.models import Calibration, Judge, Tournament, Verdict
from runs.models import Experiment
from tests.fakes.judge_server import Act, JudgeServer, verdict
from tests.judging.judge_factory import judge_at, on, worked
from tests.judging.tournament_factory import gold, held, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Of 24 comparisons, two of which are asked twice: the first and the twenty-first."""
    return held(ada, experiment, prompts=8, contestants=3)


@pytest.fixture
def small(ada: User, experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> Tournament:
    """Of 6 comparisons, two of which are asked twice: the first and the fifth."""
    monkeypatch.setattr(questions, "TWICE_EVERY", 4)
    return held(ada, experiment, prompts=2, contestants=3)


def asked(server: JudgeServer, ada: User, tournament: Tournament) -> Judge:
    judge = judge_at(server, ada, at_once=1)
    worked(on(judge, tournament, [rubric("helpfulness")], asks_twice=True))
    return judge


def test_second_answers_are_asked_for_kept_and_rate_nobody(
    server: JudgeServer, ada: User, small: Tournament, ada_client: Client
) -> None:
    server.act = lambda _: Act(verdict(9, 1))
    judge = asked(server, ada, small)
    helpful = rubric("helpfulness")
    assert len(server.asked) == 2 * (6 + 2) == judge.assignments.get().planned
    assert Verdict.objects.filter(judge=judge, sample=1).count() == 4

    (found,) = judge_runs.repeated(judge, Tournament.objects.all())
    assert (found.rubric, found.asked, found.judged, found.alike.value) == (helpful, 4, 4, 1.0)
    page = ada_client.get(reverse("judge", args=[judge.pk])).content.decode()
    assert "Asked the same twice" in page

    Calibration.objects.create(judge=judge, rubric=helpful, gold_set=gold(ada), passes=True, measured={})
    assert len(votes_in(small, helpful)) == 12


def test_what_changes_and_what_is_no_verdict_is_counted_apart(
    server: JudgeServer, ada: User, small: Tournament
) -> None:
    number = count()
    said = [verdict(9, 1), verdict(1, 9), verdict(9, 1), "I will not say."]
    server.act = lambda _: Act(said[k] if (k := next(number)) < len(said) else verdict(9, 1))
    judge = asked(server, ada, small)
    (found,) = judge_runs.repeated(judge, Tournament.objects.all())
    assert found.asked == 4 and found.judged == 3
    assert found.alike.value == pytest.approx(2 / 3)
    assert judge_runs.repeated(judge, Tournament.objects.none()) == []


def test_what_it_costs_is_said_before(server: JudgeServer, ada: User, tournament: Tournament) -> None:
    judge, by = judge_at(server, ada), [rubric("helpfulness"), rubric("harmlessness")]
    once, twice = (judge_runs.estimate(judge, tournament, by, asks_twice=again) for again in (False, True))
    assert (once.calls, twice.calls) == (2 * 2 * 24, 2 * 2 * 26)
    assert once.likely.amount < twice.likely.amount < once.likely.amount * 2
    assert once.at_most < twice.at_most
    assert judge_runs.estimate(judge, tournament, by, samples=3).calls == 3 * once.calls
