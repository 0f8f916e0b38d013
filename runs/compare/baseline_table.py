"""Settings held against a baseline: the mean of their seeds, the difference, and whether it exceeds the seeds' spread.

A setting is all chosen runs that differ in nothing but their seed. A seed counts once, by its newest run that has the
number: a second run of the same seed is no second draw. There is no mean over seeds that were measured differently.
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
    """One outcome of one setting. std is the sample's, None below two seeds; delta is None for the baseline itself
    and where either side has no number. ways: how its seeds were measured; with several there is neither mean, std nor
    delta. base_ways: how those of the baseline were."""

    outcome: Outcome
    by_seed: tuple[tuple[int, float], ...]
    mean: float | None
    std: float | None
    delta: Delta | None
    ways: tuple[Provenance, ...] = ()
    base_ways: tuple[Provenance, ...] = ()

    @property
    def is_mixed(self) -> bool:
        """Return whether its seeds were measured differently, so that it has no mean."""
        return len(self.ways) > 1

    @property
    def is_unlike_baseline(self) -> bool:
        """Return whether it was measured differently than the baseline."""
        return bool(self.ways and self.base_ways) and set(self.ways) != set(self.base_ways)

    @property
    def n(self) -> int:
        """Return how many seeds have the number."""
        return len(self.by_seed)

    @property
    def seeds(self) -> str:
        """Which seeds have the number."""
        return ", ".join(str(seed) for seed, _ in self.by_seed)


@dataclass(frozen=True)
class BaselineRow:
    """A setting and its cells, in the order of OUTCOMES."""

    setting: Setting
    is_baseline: bool
    cells: tuple[Cell, ...]


def standings(
    settings: Sequence[Setting],
    numbers: Mapping[int, Final],
    baseline: Setting,
    measured: Provenances = MappingProxyType({}),
) -> list[BaselineRow]:
    """One a setting, in the order given, each against `baseline`, which is one of them."""
    base = {o.name: _seeds(baseline, o, numbers, measured) for o in OUTCOMES}
    out = []
    for setting in settings:
        mine = ((o, _seeds(setting, o, numbers, measured)) for o in OUTCOMES)
        cells = (_cell(o, seeds, base[o.name], setting is baseline) for o, seeds in mine)
        out.append(BaselineRow(setting, setting is baseline, tuple(cells)))
    return out


@dataclass(frozen=True)
class _Seeds:
    """The number of each seed of a setting, and how these were measured."""

    values: Mapping[int, float]
    ways: tuple[Provenance, ...]


def _seeds(setting: Setting, outcome: Outcome, numbers: Mapping[int, Final], measured: Provenances) -> _Seeds:
    newest_last = sorted(setting.runs, key=lambda run: run.pk)
    runs = dict(sorted({run.seed: run for run in newest_last if outcome.name in numbers[run.pk].values}.items()))
    values = {seed: numbers[run.pk].values[outcome.name] for seed, run in runs.items()}
    return _Seeds(values, ways(measured.get((run.pk, outcome.key)) for run in runs.values()))


def _cell(outcome: Outcome, mine: _Seeds, base: _Seeds, is_baseline: bool) -> Cell:
    by_seed = tuple(mine.values.items())
    if len(mine.ways) > 1 or not by_seed:
        return Cell(outcome, by_seed, None, None, None, mine.ways, base.ways)
    values = np.array(list(mine.values.values()))
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    has_delta = not is_baseline and base.values and len(base.ways) <= 1
    held = delta(list(mine.values.values()), list(base.values.values())) if has_delta else None
    return Cell(outcome, by_seed, float(values.mean()), std, held, mine.ways, base.ways)
