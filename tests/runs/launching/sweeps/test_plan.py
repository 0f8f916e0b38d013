"""A grid or a list of cells gives runs, each once, or all problems together."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from runs.launching.sweeps.plan import extend_cells, label, plan_runs
from workers.config import ConfigError, preset

BASE = preset("es-micro").config


def problems(**more: Any) -> dict[str, str]:
    """Return the problems of a sweep that differs in these fields from a valid one."""
    fields: dict[str, Any] = {"grid": {"es.sigma": [0.1]}, "listed": [], "seeds": [0], **more}
    with pytest.raises(ConfigError) as error:
        plan_runs(BASE, **fields)
    return {p.path: p.message for p in error.value.problems}


def test_a_grid_is_every_combination_seed_by_seed() -> None:
    runs = plan_runs(BASE, {"es.sigma": [0.1, 0.2], "es.population": [4, 8]}, [], [0, 1])
    assert [run.seed for run in runs] == [0] * 4 + [1] * 4
    assert [tuple(run.cell.values()) for run in runs[:4]] == [(0.1, 4), (0.1, 8), (0.2, 4), (0.2, 8)]
    assert runs[3].config.es is not None and runs[3].config.es.sigma == 0.2 and runs[3].config.es.population == 8
    assert runs[3].config.es.iterations == BASE["es"]["iterations"]


def test_a_list_has_no_other_cells_than_its_own() -> None:
    runs = plan_runs(BASE, {}, [{"es.sigma": 0.1}, {"es.sigma": 0.2, "evaluation.every": 3}], [7])
    assert [run.cell for run in runs] == [{"es.sigma": 0.1}, {"es.sigma": 0.2, "evaluation.every": 3}]


def test_the_same_value_written_twice_is_one_run() -> None:
    assert len(plan_runs(BASE, {"es.sigma": [1, 1.0, 2]}, [], [0, 0])) == 2


def test_a_section_that_may_be_left_out_can_be_swept_into() -> None:
    runs = plan_runs(BASE, {"es.lora.rank": [2, 4]}, [], [0])
    assert [run.config.es.lora.rank for run in runs if run.config.es and run.config.es.lora] == [2, 4]


def test_all_problems_are_reported_at_their_keys() -> None:
    errors = problems(grid={"es.sigma": [0.1, -1, "x"], "es.noise": ["full", "none"]}, seeds=[-1])
    assert errors["es.sigma"] == "must be a number, not 'x'"
    assert errors["es.noise"].startswith("must be one of full, low_rank, correlated")
    assert "at least 0" in errors["seeds"]


def test_unknown_key_is_reported_with_the_valid_keys() -> None:
    assert problems(grid={"es.sgima": [1]})["es.sgima"].startswith("is not a known key; did you mean es.sigma?")
    message = problems(grid={"nosuch": [1]})["nosuch"]
    assert "compute" in message and "evaluation" in message
    assert problems(grid={"seed": [1]}) == {"seed": "cannot be swept; set seeds instead"}
    assert "is not a known key" in problems(grid={"es": [{}]})["es"]


def test_nothing_to_go_over_is_a_problem() -> None:
    assert "grid" in problems(grid={})
    assert "grid" in problems(listed=[{"es.sigma": 1}])
    assert problems(grid={"es.sigma": []}) == {"es.sigma": "needs at least one value"}
    assert "seeds" in problems(seeds=[])
    assert problems(grid={}, listed=[{}]) == {"cells": "each cell needs at least one key"}


def test_too_many_runs_are_refused_before_any_is_looked_at(settings: Settings) -> None:
    settings.SWEEP_RUNS = 10
    errors = problems(grid={"es.sigma": [0.1] * 10**6, "es.alpha": [0.1] * 10**6})
    assert errors == {"grid": f"these are {10**12} runs; a sweep has at most 10: use fewer values or seeds"}


def test_a_sweep_is_widened_along_its_own_keys_alone() -> None:
    assert extend_cells({"es.sigma": [1]}, [], {"es.sigma": [2]}, []) == ({"es.sigma": [1, 2]}, [])
    assert extend_cells({}, [{"es.sigma": 1}], {}, [{"es.sigma": 2}]) == ({}, [{"es.sigma": 1}, {"es.sigma": 2}])
    for added in (({"es.alpha": [2]}, []), ({}, [{"es.sigma": 2}])):
        with pytest.raises(ConfigError):
            extend_cells({"es.sigma": [1]}, [], *added)


def test_a_label_is_short_where_that_is_clear() -> None:
    assert label({"es.sigma": 0.001, "task.name": "countdown"}) == "sigma=0.001, name=countdown"
    assert label({"model.path": "tiny", "task.options.path": "a:b"}) == "model.path=tiny, task.options.path=a:b"
