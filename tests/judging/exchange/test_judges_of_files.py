"""Judges of imported files: admitted to boards, shown as imported, and never called."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from judging import judge_runs
from judging.judges import admitted_verdicts, exclusion_reason, rules_judge
from judging.models import Assignment, Comparison, Judge, Tournament, Verdict
from runs.models import Experiment
from tests.judging.tournament_factory import make_tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=1)


@pytest.fixture
def judge(ada: User) -> Judge:
    return Judge.objects.create(owner=ada, kind=Judge.Kind.IMPORTED, name="gpt-4.1-mini", model="gpt-4.1-mini")


def test_imported_judge_enters_boards_despite_missing_verdicts(tournament: Tournament, judge: Judge) -> None:
    rubric = tournament.rubrics.get(criterion__slug="helpfulness")
    outcomes = zip(Comparison.objects.all(), ("a", "unparsed", "refused"), strict=True)
    Verdict.objects.bulk_create(Verdict(comparison=c, rubric=rubric, judge=judge, outcome=o) for c, o in outcomes)
    assert admitted_verdicts(Verdict.objects.rating()).count() == 3
    assert exclusion_reason(judge, rubric, tournament) == ""


def test_imported_judge_cannot_be_started(ada: User, tournament: Tournament, judge: Judge) -> None:
    with pytest.raises(judge_runs.CannotAsk, match="comes from an imported file"):
        judge_runs.start(
            Assignment(judge=judge, tournament=tournament, cap=0, created_by=ada), list(tournament.rubrics.all())
        )


def test_imported_judge_page_offers_no_actions(ada_client: Client, judge: Judge) -> None:
    rules_judge()
    page = ada_client.get(judge.get_absolute_url()).content.decode()
    assert "Imported, not calibrated here" in page and "settings-title" not in page
    assert f"/judging/judges/{judge.pk}/change/" not in page
    assert ada_client.get(f"/judging/judges/{judge.pk}/edit/").status_code == 403
    listed = ada_client.get("/judging/judges/").content.decode()
    assert "gpt-4.1-mini" not in listed and "Rules (form alone)" in listed
