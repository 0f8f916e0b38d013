"""Headings of the columns of a config diff: the letters of their runs and what distinguishes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs.charts import Mark
from runs.compare.config_diff import ConfigDiff
from runs.compare.labels import distinct_names

MAX_LETTERS = 6


@dataclass(frozen=True)
class ConfigColumn:
    """Runs that share a column. name: that of the only run, or else of their group; label: what distinguishes it."""

    marks: tuple[Mark, ...]
    name: str
    label: str
    is_baseline: bool

    @property
    def first_letters(self) -> str:
        """Return the letters that the heading shows."""
        return " ".join(mark.letter for mark in self.marks[:MAX_LETTERS])

    @property
    def more(self) -> int:
        """Return the number of runs whose letters the heading leaves out."""
        return max(0, len(self.marks) - MAX_LETTERS)

    @property
    def letters(self) -> str:
        """Return the letters of all runs, separated by spaces."""
        return " ".join(mark.letter for mark in self.marks)

    @property
    def tone(self) -> str:
        """Return the token of the colour of its runs' group."""
        return self.marks[0].group.tone

    @property
    def full_name(self) -> str:
        """Return the names of all its runs with their letters."""
        return ", ".join(mark.name for mark in self.marks)


def config_columns(diff: ConfigDiff, marks: Sequence[Mark]) -> list[ConfigColumn]:
    """Return the headings of the diff's columns. `marks` are those of the compared configs, in their order."""
    members = [tuple(marks[i] for i in column) for column in diff.columns]
    names = [own[0].run.name if len(own) == 1 else own[0].group.name for own in members]
    return [
        ConfigColumn(own, name, label, i == diff.baseline)
        for i, (own, name, label) in enumerate(zip(members, names, distinct_names(names), strict=True))
    ]
