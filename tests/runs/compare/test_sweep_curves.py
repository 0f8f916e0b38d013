"""Curves of a sweep: of each cell, or of any of its keys."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runs.launching.sweeps.commands import NewSweep, launch_sweep
from runs.models import Experiment, Sweep
from tests.runs.full_runs import evaluation, record
from workers.config import preset

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")


@pytest.fixture
def sweep(experiment: Experiment) -> Sweep:
    """Return a sweep over two keys with two seeds, whose runs have an evaluation each."""
    grid = {"es.sigma": [0.1, 0.2], "es.population": [4, 8]}
    new = NewSweep(base=preset("es-micro").config, grid=grid, seeds=[0, 1], preset="es-micro", at_once=2)
    made = launch_sweep(new, experiment, experiment.owner)
    for run in made.runs.all():
        record(run, [evaluation(1, -10.0 * run.cell["es.population"] - run.seed)])
    return made


def test_each_cell_is_a_group_by_default(ada_client: Client, sweep: Sweep) -> None:
    page = ada_client.get(reverse("sweep-curves", args=[sweep.pk]))
    groups = page.context["groups"]
    assert sorted(group.name for group in groups) == [
        "es-micro, population 4, sigma 0.1", "es-micro, population 4, sigma 0.2",
        "es-micro, population 8, sigma 0.1", "es-micro, population 8, sigma 0.2",
    ]  # fmt: skip
    assert [group.n for group in groups] == [2, 2, 2, 2]
    assert not any(placed.chart.is_empty for placed in page.context["placed_charts"])


def test_groups_by_a_key_of_the_sweep_pool_the_others(ada_client: Client, sweep: Sweep) -> None:
    page = ada_client.get(f"{reverse('sweep-curves', args=[sweep.pk])}?group=es.population")
    assert {group.name: group.n for group in page.context["groups"]} == {
        "ES · population 4": 4, "ES · population 8": 4,
    }  # fmt: skip
    chart = page.context["placed_charts"][0].chart
    assert {row[0]: row[3] for row in chart.table.rows} == {"ES · population 4": -40.5, "ES · population 8": -80.5}


def test_a_sweep_of_many_cells_draws_the_best(ada_client: Client, experiment: Experiment) -> None:
    sigmas = [round(0.01 * i, 2) for i in range(1, 16)]
    new = NewSweep(base=preset("es-micro").config, grid={"es.sigma": sigmas}, seeds=[0], preset="es-micro", at_once=2)
    sweep = launch_sweep(new, experiment, experiment.owner)
    for run in sweep.runs.all():
        record(run, [evaluation(1, run.cell["es.sigma"])])
    page = ada_client.get(reverse("sweep-curves", args=[sweep.pk]))
    drawn = {run.cell["es.sigma"] for group in page.context["groups"] for run in group.runs}
    assert drawn == set(sigmas[-12:])
    assert "12 of 15 groups shown" in " ".join(page.content.decode().split()).replace("\n", " ")


def test_only_visible_sweeps_have_curves(bo_client: Client, sweep: Sweep) -> None:
    Experiment.objects.filter(pk=sweep.experiment_id).update(is_private=True)
    for name in ("sweep-curves", "sweep-chart"):
        assert bo_client.get(reverse(name, args=[sweep.pk])).status_code == 404


def test_a_chart_is_a_file_too(ada_client: Client, sweep: Sweep) -> None:
    response = ada_client.get(f"{reverse('sweep-chart', args=[sweep.pk])}?name=kl&as=csv&group=es.sigma")
    assert len(response.content.decode().splitlines()) == 3
    assert ada_client.get(f"{reverse('sweep-chart', args=[sweep.pk])}?name=foo").status_code == 404
