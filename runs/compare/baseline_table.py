"""Settings compared with a baseline: mean of the seeds, difference, and tests of it on the seeds.

A setting is all selected runs that differ only in their seed, or those of a group that the reader chose. A seed of one
config counts once, by its newest run that has the number: a second run of the same seed is no second sample. There is
no mean over seeds that were measured differently.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from django.utils.translation import gettext, ngettext

from runs.compare.final_results import OUTCOMES, SECONDS, Final
from runs.metrics import Provenance, Provenances, has_headline_metric, task_of, ways
from runs.metrics.catalogue import Metric
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
    std and delta are None. `base_ways`: measurement of the baseline's seeds. `absence`: sentence that says why the
    outcome does not apply to the setting, empty if it does. `step`: that of the seeds' values, None for an outcome
    without steps. `is_uneven`: whether the seeds have other last steps than this one."""

    outcome: Metric
    by_seed: tuple[tuple[int, float], ...]
    mean: float | None
    std: float | None
    delta: Delta | None
    ways: tuple[Provenance, ...] = ()
    base_ways: tuple[Provenance, ...] = ()
    absence: str = ""
    step: int | None = None
    is_uneven: bool = False

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
        return ", ".join(str(seed) for seed in sorted({seed for seed, _ in self.by_seed}))


@dataclass(frozen=True)
class BaselineRow:
    """A setting and its cells, in the order of the outcomes. flagged: number of its runs with open flags."""

    setting: Setting
    is_baseline: bool
    cells: tuple[Cell, ...]
    flagged: int = 0


@dataclass(frozen=True)
class BaselineChoice:
    """The baseline of a comparison. reason: sentence that says why it was chosen, empty if there was no choice or the
    reader chose it."""

    setting: Setting
    reason: str = ""


def choose_baseline(
    settings: Sequence[Setting], numbers: Mapping[int, Final], flagged: Collection[int]
) -> BaselineChoice:
    """Return the baseline of a page whose reader has not chosen one, with the reason. `settings` is not empty.

    Settings of which no run has an open flag come first (`flagged`: ids of runs that have one), since a flagged reward
    may come from cheating; then those with more evaluated seeds, whose mean is more certain; then the first in order.
    """
    unflagged = [s for s in settings if not any(run.pk in flagged for run in s.runs)]
    candidates = unflagged or settings
    counts = [len(_evaluated_seeds(setting, numbers)) for setting in candidates]
    most = [setting for setting, n in zip(candidates, counts, strict=True) if n == max(counts)]
    avoids_flags, has_most = len(candidates) < len(settings), len(most) < len(candidates)
    return BaselineChoice(most[0], _reason(avoids_flags, has_most) if len(settings) > 1 else "")


def _reason(avoids_flags: bool, has_most: bool) -> str:
    if avoids_flags and has_most:
        return gettext("Chosen because it has no open flags and the most evaluated seeds.")
    if avoids_flags:
        return gettext("Chosen because it has no open flags.")
    if has_most:
        return gettext("Chosen because it has the most evaluated seeds.")
    return gettext("Chosen because it is the first.")


def _evaluated_seeds(setting: Setting, numbers: Mapping[int, Final]) -> set[tuple[str, int]]:
    """Return (recipe, seed) of the runs that have a number of the evaluator."""
    return {run.repetition for run in setting.runs if numbers[run.pk].values.keys() - {SECONDS}}


def standings(
    settings: Sequence[Setting],
    numbers: Mapping[int, Final],
    baseline: Setting,
    measured: Provenances = MappingProxyType({}),
    outcomes: Sequence[Metric] = OUTCOMES,
) -> list[BaselineRow]:
    """Return a row for each setting, in the order given, compared with `baseline`, which is one of the settings."""
    base = {o.key: _seeds(baseline, o, numbers, measured) for o in outcomes}
    out = []
    for setting in settings:
        seeds_by_outcome = ((o, _seeds(setting, o, numbers, measured)) for o in outcomes)
        cells = (_cell(o, seeds, base[o.key], setting is baseline) for o, seeds in seeds_by_outcome)
        explained = (cell if cell.n else replace(cell, absence=_absence(setting, cell.outcome)) for cell in cells)
        out.append(BaselineRow(setting, setting is baseline, tuple(explained)))
    return out


def _absence(setting: Setting, outcome: Metric) -> str:
    """Return why no run of the setting can have the outcome: it is no metric of their tasks. Empty if one can."""
    if outcome.key == SECONDS or any(has_headline_metric(run.config, outcome.key) for run in setting.runs):
        return ""
    tasks = sorted({task_of(run.config) for run in setting.runs})
    message = ngettext("Not a metric of the task %(tasks)s.", "Not a metric of the tasks %(tasks)s.", len(tasks))
    return message % {"tasks": ", ".join(tasks)} if tasks else ""


@dataclass(frozen=True)
class _Seeds:
    """(seed, number) of each seed of a setting, the ways in which these were measured, and the step of the numbers."""

    by_seed: tuple[tuple[int, float], ...]
    ways: tuple[Provenance, ...]
    step: int | None
    is_uneven: bool


def _seeds(setting: Setting, outcome: Metric, numbers: Mapping[int, Final], provenances: Provenances) -> _Seeds:
    newest_last = sorted(setting.runs, key=lambda run: run.pk)
    runs = {run.repetition: run for run in newest_last if outcome.key in numbers[run.pk].values}
    ordered = [run for _, run in sorted(runs.items(), key=lambda item: (item[0][1], item[1].pk))]
    by_seed = tuple((run.seed, numbers[run.pk].values[outcome.key]) for run in ordered)
    step = next((numbers[run.pk].steps.get(outcome.key) for run in ordered), None)
    is_uneven = any(outcome.key in numbers[run.pk].last_steps for run in setting.runs)
    return _Seeds(by_seed, ways(provenances.get((run.pk, outcome.key)) for run in ordered), step, is_uneven)


def _cell(outcome: Metric, own: _Seeds, base: _Seeds, is_baseline: bool) -> Cell:
    cell = Cell(
        outcome, own.by_seed, None, None, None, own.ways, base.ways, step=own.step, is_uneven=own.is_uneven
    )  # fmt: skip
    if len(own.ways) > 1 or not own.by_seed:
        return cell
    values = [value for _, value in own.by_seed]
    base_values = [value for _, value in base.by_seed]
    # Computed from distances, equal values have exactly their own mean, no deviation and no difference.
    origin = values[0]
    distances, base_distances = [v - origin for v in values], [v - origin for v in base_values]
    mean, std = origin + float(np.mean(distances)), float(np.std(distances, ddof=1)) if len(values) > 1 else None
    has_delta = not is_baseline and base_values and len(base.ways) <= 1
    difference = delta(distances, base_distances) if has_delta else None
    return replace(cell, mean=mean, std=std, delta=difference)
