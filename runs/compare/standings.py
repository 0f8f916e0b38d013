"""Settings held against a baseline: the mean of their seeds, the difference, and whether it exceeds the seeds' spread.

A setting is all chosen runs that differ in nothing but their seed. A seed counts once, by its newest run that has the
number: a second run of the same seed is no second draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runs.compare.finals import OUTCOMES, Final, Outcome
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
    and where either side has no number."""

    outcome: Outcome
    by_seed: tuple[tuple[int, float], ...]
    mean: float | None
    std: float | None
    delta: Delta | None

    @property
    def n(self) -> int:
        """How many seeds have the number."""
        return len(self.by_seed)

    @property
    def seeds(self) -> str:
        """Which seeds have the number."""
        return ", ".join(str(seed) for seed, _ in self.by_seed)


@dataclass(frozen=True)
class Standing:
    """A setting and its cells, in the order of OUTCOMES."""

    setting: Setting
    is_baseline: bool
    cells: tuple[Cell, ...]


def standings(settings: Sequence[Setting], numbers: Mapping[int, Final], baseline: Setting) -> list[Standing]:
    """One a setting, in the order given, each against `baseline`, which is one of them."""
    base = {o.name: _by_seed(baseline, o.name, numbers) for o in OUTCOMES}
    out = []
    for setting in settings:
        cells = (_cell(o, _by_seed(setting, o.name, numbers), base[o.name], setting is baseline) for o in OUTCOMES)
        out.append(Standing(setting, setting is baseline, tuple(cells)))
    return out


def _by_seed(setting: Setting, name: str, numbers: Mapping[int, Final]) -> dict[int, float]:
    newest_last = sorted(setting.runs, key=lambda run: run.pk)
    found = {run.seed: numbers[run.pk].values[name] for run in newest_last if name in numbers[run.pk].values}
    return dict(sorted(found.items()))


def _cell(outcome: Outcome, mine: Mapping[int, float], base: Mapping[int, float], is_baseline: bool) -> Cell:
    values = np.array(list(mine.values()))
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    held = None if is_baseline or not mine or not base else delta(list(mine.values()), list(base.values()))
    return Cell(outcome, tuple(mine.items()), float(values.mean()) if len(values) else None, std, held)
