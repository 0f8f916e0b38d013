"""Addresses that lead from a sweep to its runs: a single run's page, or the comparison of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from runs.launching.sweeps.table import CellRow, SeedRun

MAX_COMPARED_RUNS = 50
"""Number of runs that a comparison shows at most."""


@dataclass(frozen=True)
class CompareLink:
    """Link to the comparison of `n` of `total` runs."""

    url: str
    n: int
    total: int

    @property
    def is_whole(self) -> bool:
        """Return whether the comparison shows all of the runs."""
        return self.n == self.total


def compare_link(runs: Sequence[SeedRun]) -> CompareLink:
    """Return the link to the comparison of these runs, of the first MAX_COMPARED_RUNS if there are more."""
    uids = [run.uid for run in runs[:MAX_COMPARED_RUNS]]
    query = urlencode([("run", uid) for uid in uids] + [("show", "all")])
    return CompareLink(f"{reverse('compare')}?{query}", len(uids), len(runs))


def best_runs_first(rows: Sequence[CellRow], ranking: Sequence[CellRow]) -> list[SeedRun]:
    """Return a sweep's runs: those of the cells of `ranking` in its order, then those of the other cells."""
    ranked = {row.index for row in ranking}
    ordered = [*ranking, *(row for row in rows if row.index not in ranked)]
    return [run for row in ordered for run in row.runs]


def runs_url(runs: Sequence[SeedRun]) -> str:
    """Return the address of these runs: the page of a single run, or the comparison of several; empty for none."""
    if len(runs) == 1:
        return reverse("run", args=[runs[0].uid])
    return compare_link(runs).url if runs else ""
