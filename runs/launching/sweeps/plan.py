"""Plan the runs of a sweep: apply a grid or a list of cells to a config, or report all problems."""

from __future__ import annotations

import difflib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from runs.launching.request import value_at
from runs.launching.run_names import format_value
from workers.config import ConfigError, Problem, RunConfig, config_fields
from workers.config.decode import MAX_UNKNOWN_KEYS

KEYS = tuple(
    dict.fromkeys(setting.path for setting in config_fields(RunConfig) if setting.path not in ("schema", "seed"))
)
"""Keys that a sweep may vary."""
Cell = dict[str, Any]
Decode = Callable[[Mapping[str, Any]], RunConfig]


@dataclass(frozen=True)
class PlannedRun:
    """Run that a sweep would have. `cell` holds the values as the config has them."""

    cell: Cell
    seed: int
    config: RunConfig

    @property
    def identity(self) -> str:
        """Return a text that is equal for the same cell and seed, however the values were written."""
        return identity(self.cell, self.seed)


def identity(cell: Mapping[str, Any], seed: int) -> str:
    """Return the text that identifies a run within its sweep: its cell and its seed as JSON, with sorted keys."""
    return json.dumps([cell, seed], sort_keys=True)


def cells_of(grid: Mapping[str, Sequence[Any]], listed: Sequence[Cell]) -> list[Cell]:
    """Return the cells in order: every combination of the grid, the last key fastest; or the listed cells."""
    if grid:
        return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    return list(listed)


def plan_runs(
    base: Mapping[str, Any],
    grid: Mapping[str, Sequence[Any]],
    listed: Sequence[Cell],
    seeds: Sequence[int],
    decode: Decode = RunConfig.from_json,
) -> list[PlannedRun]:
    """Return every run once: all cells of the first seed come before those of the next, so that each cell starts early.

    `decode` makes a run's config of its JSON. Raise ConfigError with every problem of every cell.
    """
    if problems := list(_complaints(grid, listed, seeds)):
        raise ConfigError(problems)
    runs_by_identity: dict[str, PlannedRun] = {}
    wrong: dict[Problem, None] = {}
    for seed, cell in itertools.product(seeds, cells_of(grid, listed)):
        try:
            planned_run = _plan_run(base, cell, seed, decode)
            runs_by_identity.setdefault(planned_run.identity, planned_run)
        except ConfigError as error:
            wrong |= dict.fromkeys(error.problems)
    if wrong:
        raise ConfigError([Problem("seeds" if p.path == "seed" else p.path, p.message) for p in wrong])
    return list(runs_by_identity.values())


def extend_cells(
    grid: Mapping[str, Sequence[Any]], listed: Sequence[Cell], more: Mapping[str, Sequence[Any]], cells: Sequence[Cell]
) -> tuple[dict[str, list[Any]], list[Cell]]:
    """Return a sweep's grid and list of cells with more values or cells.

    Raise ConfigError for keys that the sweep does not vary, for values if it has cells, and for cells if it has a grid.
    """
    keys = list(grid) if grid else list(dict.fromkeys(key for cell in listed for key in cell))
    unknown = [key for key in (*more, *(key for cell in cells for key in cell)) if key not in keys]
    if unknown:
        message = f"is not a key of this sweep; its keys are {', '.join(keys)}"
        raise ConfigError([Problem(key, message) for key in dict.fromkeys(unknown)])
    if (more and not grid) or (cells and grid):
        expected = "values of its keys, as grid" if grid else "cells, because it is a list and not a grid"
        raise ConfigError([Problem("grid" if more else "cells", f"this sweep is extended by {expected}")])
    return {key: [*values, *more.get(key, [])] for key, values in grid.items()}, [*listed, *cells]


def label(cell: Mapping[str, Any]) -> str:
    """Return a cell in one line. Keys lose their sections if the short names are unambiguous."""
    last = [key.rpartition(".")[2] for key in cell]
    names = [short if last.count(short) == 1 else key for key, short in zip(cell, last, strict=True)]
    return ", ".join(f"{name}={format_value(value)}" for name, value in zip(names, cell.values(), strict=True))


def _complaints(grid: Mapping[str, Sequence[Any]], listed: Sequence[Cell], seeds: Sequence[int]) -> Iterator[Problem]:
    """Yield the problems of the grid, the cells and the seeds, before any config is decoded."""
    if bool(grid) == bool(listed):
        yield Problem("grid", 'give either grid, such as {"es.sigma": [0.001, 0.01]}, or cells, a list of such objects')
    if not seeds:
        yield Problem("seeds", "give at least one seed, such as [0]")
    known = set(KEYS)
    unknown = [key for key in dict.fromkeys([*grid, *(key for cell in listed for key in cell)]) if key not in known]
    for key in unknown[:MAX_UNKNOWN_KEYS]:
        yield from _key_problems(key)
    if (more := len(unknown) - MAX_UNKNOWN_KEYS) > 0:
        yield Problem("grid" if grid else "cells", f"there are {more} more unknown keys")
    for key, values in grid.items():
        if not values:
            yield Problem(key, "needs at least one value")
    if any(not cell for cell in listed):
        yield Problem("cells", "each cell needs at least one key")
    run_count = math.prod(map(len, grid.values())) * len(seeds) if grid else len(listed) * len(seeds)
    if run_count > settings.SWEEP_RUNS:
        message = f"these are {run_count} runs; a sweep has at most {settings.SWEEP_RUNS}: use fewer values or seeds"
        yield Problem("grid" if grid else "cells", message)


def _key_problems(key: str) -> Iterator[Problem]:
    if key in ("seed", "schema"):
        yield Problem(key, "cannot be swept; set seeds instead" if key == "seed" else "cannot be swept")
        return
    near = difflib.get_close_matches(key, KEYS, n=1)
    section = key.partition(".")[0]
    inside = [key_name for key_name in KEYS if key_name.startswith(f"{section}.")]
    choices = inside or sorted({key_name.partition(".")[0] for key_name in KEYS})
    hint = f"; did you mean {near[0]}?" if near else "."
    yield Problem(
        key, f"is not a known key{hint} The keys {'there' if inside else 'begin with'} {_list_choices(choices)}"
    )


def _list_choices(choices: Iterable[str]) -> str:
    listed = ", ".join(choices)
    return f"are {listed}" if "." in listed else listed


def _plan_run(base: Mapping[str, Any], cell: Cell, seed: int, decode: Decode) -> PlannedRun:
    config = decode({**_apply_cell(base, cell), "seed": seed})
    whole = config.to_json()
    return PlannedRun({key: value_at(whole, key) for key in cell}, seed, config)


def _apply_cell(base: Mapping[str, Any], cell: Cell) -> dict[str, Any]:
    """Return the config with the cell's values. Only the sections that they change are copied."""
    config = dict(base)
    for key, value in cell.items():
        *sections, name = key.split(".")
        target = config
        for section in sections:
            inner = target.get(section)
            target[section] = target = dict(inner) if isinstance(inner, dict) else {}
        target[name] = value
    return config
