"""The plan of the largest sweep decodes each run's config once, and encodes it once."""

from __future__ import annotations

from time import thread_time
from unittest import mock

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from runs.launching.create import estimate_demands
from runs.launching.sweeps.plan import plan_runs
from workers.config import RunConfig, preset

GRID = {"es.sigma": [0.001 * n for n in range(1, 38)], "es.population": [2 * n for n in range(1, 10)]}
SEEDS = [0, 1, 2]
RUNS = 999
MOST_SECONDS = 3.0
"""Ten times what it takes."""


@pytest.mark.django_db
def test_plan_of_999_runs_encodes_each_config_once(ada: User, settings: Settings) -> None:
    start = thread_time()
    with mock.patch.object(RunConfig, "to_json", autospec=True, side_effect=RunConfig.to_json) as encoded:
        runs = plan_runs(preset("es-micro").config, GRID, [], SEEDS)
        assert len(estimate_demands(ada, None, [run.config for run in runs], "es-micro")) == len(runs) == RUNS
    assert encoded.call_count == RUNS
    assert thread_time() - start < MOST_SECONDS


def test_cells_of_a_sweep_share_nothing_that_they_change() -> None:
    base = {**preset("es-micro").config}
    first, second = plan_runs(base, {"es.sigma": [0.5, 0.25]}, [], [0])
    assert (first.config.es_section().sigma, second.config.es_section().sigma) == (0.5, 0.25)
    assert base == preset("es-micro").config
