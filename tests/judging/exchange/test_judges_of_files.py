"""Judges of imported files: let into boards, shown as what they are, and asked nothing."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from judging import judge_runs
from judging.judges import admitted, rules_judge, why_not
from judging.models import Comparison, Judge, Tournament, Verdict
from runs.models import Experiment
from tests.judging.tournament_factory import held

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, prompts=1)


@pytest.fixture
def judge(ada: User) -> Judge:
    return Judge.objects.create(owner=ada, kind=Judge.Kind.IMPORTED, name="gpt-4.1-mini", model="gpt-4.1-mini")


def test_its_verdicts_enter_boards_though_many_are_missing(tournament: Tournament, judge: Judge) -> None:
    rubric = tournament.rubrics.get(criterion__slug="helpfulness")
    said = zip(Comparison.objects.all(), ("a", "unparsed", "refused"), strict=True)
    Verdict.objects.bulk_create(Verdict(comparison=c, rubric=rubric, judge=judge, outcome=o) for c, o in said)
    assert admitted(Verdict.objects.rating()).count() == 3
    assert why_not(judge, rubric, tournament) == ""


def test_it_is_asked_nothing(ada: User, tournament: Tournament, judge: Judge) -> None:
    with pytest.raises(judge_runs.CannotAsk, match="is the judge of an imported file"):
        judge_runs.start(judge_runs.Order(judge, list(tournament.rubrics.all()), 0, tournament), ada)  # type: ignore[arg-type]


def test_its_page_says_what_it_is_and_offers_nothing(ada_client: Client, judge: Judge) -> None:
    rules_judge()
    page = ada_client.get(judge.get_absolute_url()).content.decode()
    assert "Imported, not calibrated here" in page and "How it is asked" not in page
    assert f"/judging/judges/{judge.pk}/change/" not in page
    assert ada_client.get(f"/judging/judges/{judge.pk}/edit/").status_code == 403
    listed = ada_client.get("/judging/judges/").content.decode()
    assert "gpt-4.1-mini" not in listed and "Rules (form alone)" in listed
