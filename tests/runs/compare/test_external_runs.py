"""Comparisons treat external runs as trainings of this site: by seed, by setting, with their curves and flags."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runs.compare import Setting, cautions
from runs.compare.cautions import Final
from runs.models import Experiment, Run
from tests.runs.external_runs import make_external_run
from tests.runs.full_runs import evaluation

pytestmark = pytest.mark.usefixtures("local", "runs_dir")


def external(experiment: Experiment, seed: int, last: float, **config: object) -> Run:
    records = [evaluation(0, -40.0), evaluation(5, last)]
    return make_external_run(
        experiment, config={"lr": 1, **config}, seed=seed, state="succeeded", records=records, name=f"ppo {last:g}"
    )


def cells(client: Client, runs: list[Run]) -> list[tuple[int, float | None]]:
    """Return (number of seeds, mean reward) of each setting of the comparison."""
    query = {"run": [run.uid for run in runs], "group": "recipe"}
    response = client.get(reverse("compare"), query)
    assert response.status_code == 200
    pairs = response.context["standings"]
    return [(row.cells[0].n, row.cells[0].mean) for _, row in pairs]


def test_seeds_of_an_external_setting_are_averaged(ada_client: Client, experiment: Experiment) -> None:
    runs = [external(experiment, seed, last) for seed, last in ((0, -10.0), (1, -20.0))]
    runs += [external(experiment, seed, last, lr=2) for seed, last in ((0, -30.0), (1, -40.0))]
    assert sorted(cells(ada_client, runs)) == [(2, -35.0), (2, -15.0)]


def test_runs_of_unknown_seed_are_different_repetitions(ada_client: Client, experiment: Experiment) -> None:
    runs = [external(experiment, -1, last) for last in (-10.0, -20.0, -30.0)]
    assert cells(ada_client, runs) == [(3, -20.0)]
    setting = Setting("ppo", "ppo", tuple(runs))
    messages = cautions([setting], {run.pk: Final(steps={"reward/mean": 5}) for run in runs})
    assert [message.partition(".")[0] for message in messages] == ["Fewer than 5 seeds: ppo (n = 3)"]


def test_comparison_offers_a_probe_only_of_runs_of_this_site(ada_client: Client, experiment: Experiment) -> None:
    run = make_external_run(experiment, method="es")
    assert ada_client.get(reverse("compare"), {"run": run.uid}).context["examinations"] == []
