"""Marks that distinguish runs on every chart of a page: a letter, and the group's colour, dash and marker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from runs.charts.groups import Group, groups_of
from runs.models import Run


@dataclass(frozen=True)
class Mark:
    """A run, the letter at the end of its line, and its group: by default the seeds of its setting among the runs."""

    letter: str
    run: Run
    group: Group

    @property
    def name(self) -> str:
        """Return the letter and the run's own name."""
        return f"{self.letter} · {self.run.name}"


def marks(runs: Sequence[Run], groups: Sequence[Group] | None = None) -> list[Mark]:
    """Return a mark for each run, in the order given: A to Z, then AA, AB and so on. groups: those of the runs, by
    default `groups_of` these."""
    group_of = {run.pk: group for group in (groups_of(runs) if groups is None else groups) for run in group.runs}
    return [Mark(letter(i), run, group_of[run.pk]) for i, run in enumerate(runs)]


def letter(i: int) -> str:
    """Return the i-th letter, from 0, as the columns of a spreadsheet are named."""
    rest, last = divmod(i, len(ascii_uppercase))
    return (letter(rest - 1) if rest else "") + ascii_uppercase[last]
