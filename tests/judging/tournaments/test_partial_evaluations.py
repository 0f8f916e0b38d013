"""Tournaments offer complete evaluations first, name what others lack, and pair answers of one evaluation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging import models
from judging.tournaments import Entry, create_tournament
from runs.models import Experiment, Response, Run
from tests.judging.tournament_factory import rubric
from tests.runs.evaluation_records import answers, make_planned_run, resume, write

pytestmark = pytest.mark.django_db
PART = "3 of 8 responses"


@pytest.fixture
def runs(experiment: Experiment, runs_dir: Path) -> tuple[Run, Run]:
    """Return a run that was killed during the evaluation of step 20, and one that succeeded."""
    killed = write(make_planned_run(experiment), answers(0), answers(10), answers(20, 3), state="lost")
    whole = write(make_planned_run(experiment, seed=1), answers(0), answers(20), state="succeeded")
    return killed, whole


def make(owner: User, *entries: Entry) -> models.Tournament:
    return create_tournament(models.Tournament(owner=owner, name="which"), entries, [rubric("helpfulness")], 4)


def test_last_complete_evaluation_is_preselected(ada_client: Client, runs: tuple[Run, Run]) -> None:
    killed, whole = runs
    page = ada_client.get(reverse("tournament-new"), {"run": [run.uid for run in runs]}).content.decode()
    assert set(re.findall(r'value="(\w+:\d+):eval"\s+checked', page)) == {f"{killed.uid}:10", f"{whole.uid}:20"}
    assert page.count(PART) == 1
    assert PART in page[page.index(f'value="{killed.uid}:20:eval"') :].partition("</label>")[0]


def test_contestant_name_includes_missing_answers(ada: User, runs: tuple[Run, Run]) -> None:
    killed, whole = runs
    names = make(ada, Entry(killed, 20, "eval"), Entry(whole, 20, "eval")).contestants.values_list("name", flat=True)
    assert list(names) == [f"{killed.name} · step 20 · eval · {PART}", f"{whole.name} · step 20 · eval"]


def test_pairs_use_latest_evaluation(ada: User, runs: tuple[Run, Run]) -> None:
    killed, whole = runs
    old = set(Response.objects.filter(run=killed, step=20).values_list("pk", flat=True))
    resume(killed)
    write(killed, answers(20, 2))
    tournament = make(ada, Entry(killed, 20, "eval"), Entry(whole, 20, "eval"))
    paired = set(tournament.comparisons.values_list("response_a", flat=True))
    assert len(paired) == 2 and not paired & old
