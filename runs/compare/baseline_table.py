"""Settings compared with a baseline: mean of the seeds, difference, and whether it exceeds the seeds' spread.

A setting is all selected runs that differ only in their seed. A seed counts once, by its newest run that has the
number: a second run of the same seed is no second sample. There is no mean over seeds that were measured differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from runs.compare.final_results import OUTCOMES, Final, Outcome
from runs.metrics import Provenance, Provenances, ways
from runs.models import Run
from workers.analysis.deltas import Delta, delta


@dataclass(frozen=True)
class Setting:
    """A setting as the page names it, with its runs."""

    name: str
    slug: str
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Cell:
    """The value of an outcome for a setting. `std` is the sample deviation, None below two seeds. `delta` is None for
    the baseline itself and if either side has no number. `ways`: measurement of the seeds; if there are several, mean,
    std and delta are None. `base_ways`: measurement of the baseline's seeds."""

    outcome: Outcome
    by_seed: tuple[tuple[int, float], ...]
    mean: float | None
    std: float | None
    delta: Delta | None
    ways: tuple[Provenance, ...] = ()
    base_ways: tuple[Provenance, ...] = ()

    @property
    def is_mixed(self) -> bool:
        """Return whether the seeds were measured differently, so that the cell has no mean."""
        return len(self.ways) > 1

    @property
    def is_unlike_baseline(self) -> bool:
        """Return whether the cell was measured differently from the baseline."""
        return bool(self.ways and self.base_ways) and set(self.ways) != set(self.base_ways)

    @property
    def n(self) -> int:
        """Return how many seeds have the number."""
        return len(self.by_seed)

    @property
    def seeds(self) -> str:
        """Return the seeds that have the number, joined by commas."""
        return ", ".join(str(seed) for seed, _ in self.by_seed)


@dataclass(frozen=True)
class BaselineRow:
    """A setting and its cells, in the order of OUTCOMES. flagged: number of its runs with open flags."""

    setting: Setting
    is_baseline: bool
    cells: tuple[Cell, ...]
    flagged: int = 0


def standings(
    settings: Sequence[Setting],
    numbers: Mapping[int, Final],
    baseline: Setting,
    measured: Provenances = MappingProxyType({}),
) -> list[BaselineRow]:
    """Return a row for each setting, in the order given, compared with `baseline`, which is one of the settings."""
    base = {o.name: _seeds(baseline, o, numbers, measured) for o in OUTCOMES}
    out = []
    for setting in settings:
        seeds_by_outcome = ((o, _seeds(setting, o, numbers, measured)) for o in OUTCOMES)
        cells = (_cell(o, seeds, base[o.name], setting is baseline) for o, seeds in seeds_by_outcome)
        out.append(BaselineRow(setting, setting is baseline, tuple(cells)))
    return out


@dataclass(frozen=True)
class _Seeds:
    """The number of each seed of a setting, and the ways in which these were measured."""

    values: Mapping[int, float]
    ways: tuple[Provenance, ...]


def _seeds(setting: Setting, outcome: Outcome, numbers: Mapping[int, Final], provenances: Provenances) -> _Seeds:
    newest_last = sorted(setting.runs, key=lambda run: run.pk)
    runs = dict(sorted({run.seed: run for run in newest_last if outcome.name in numbers[run.pk].values}.items()))
    values = {seed: numbers[run.pk].values[outcome.name] for seed, run in runs.items()}
    return _Seeds(values, ways(provenances.get((run.pk, outcome.key)) for run in runs.values()))


def _cell(outcome: Outcome, own: _Seeds, base: _Seeds, is_baseline: bool) -> Cell:
    by_seed = tuple(own.values.items())
    if len(own.ways) > 1 or not by_seed:
        return Cell(outcome, by_seed, None, None, None, own.ways, base.ways)
    values = np.array(list(own.values.values()))
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    has_delta = not is_baseline and base.values and len(base.ways) <= 1
    difference = delta(list(own.values.values()), list(base.values.values())) if has_delta else None
    return Cell(outcome, by_seed, float(values.mean()), std, difference, own.ways, base.ways)
