"""The chart of right answers against the reward on a comparison: its runs' paths, alone and as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest
from django.test import Client

from runs.compare.charts import gold_paths
from runs.models import Experiment, Run
from tests.runs.compare.compared_pages import address, page_of, section_of
from tests.runs.full_runs import make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db


def measured(experiment: Experiment, seed: int, values: Sequence[tuple[int, float, float]]) -> Run:
    run = make_run(experiment, seed=seed, state="succeeded")
    record(run, [Metric(step, {"reward/mean": reward, "accuracy/right": right}) for step, reward, right in values])
    return run


def test_comparison_shows_right_answers_against_the_reward(ada_client: Client, experiment: Experiment) -> None:
    honest = measured(experiment, 1, [(0, -40.0, 0.5), (10, -20.0, 0.75)])
    cheat = measured(experiment, 2, [(0, -40.0, 0.5), (10, -1.0, 0.0)])
    assert "Right answers against reward" in section_of(page_of(ada_client, [honest, cheat]), "gold")
    (name,) = gold_paths(["reward/mean", "accuracy/right"])
    file = ada_client.get(address([honest, cheat], "compare-chart"), {"name": name, "as": "csv", **uids(honest, cheat)})
    rows = list(csv.reader(io.StringIO(file.content.decode())))
    ends = {(run, reward, right) for _group, run, reward, right, *_measured in rows}
    assert {(honest.name, "-20.0", "0.75"), (cheat.name, "-1.0", "0.0")} <= ends


def uids(*runs: Run) -> dict[str, list[str]]:
    return {"run": [run.uid for run in runs]}


def test_runs_without_right_answers_have_no_such_chart(ada_client: Client, experiment: Experiment) -> None:
    runs = [make_run(experiment, seed=seed, state="succeeded") for seed in (1, 2)]
    for run in runs:
        record(run, [Metric(step, {"reward/mean": float(step)}) for step in (0, 10)])
    assert "gold-title" not in page_of(ada_client, runs)


def test_each_path_has_the_letter_of_its_run(ada_client: Client, experiment: Experiment) -> None:
    honest = measured(experiment, 1, [(0, -40.0, 0.5), (10, -20.0, 0.75)])
    cheat = measured(experiment, 2, [(0, -40.0, 0.5), (10, -1.0, 0.0)])
    (name,) = gold_paths(["reward/mean", "accuracy/right"])
    chart = ada_client.get(address([honest, cheat], "compare-chart"), {"name": name, **uids(honest, cheat)})
    text = chart.content.decode()
    assert "A is at right answers 75\N{NARROW NO-BREAK SPACE}%, reward −20; B is at right answers 0" in text
    assert '[""," A"]' in text and '".0%"' in text
