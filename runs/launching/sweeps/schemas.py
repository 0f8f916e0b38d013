"""JSON schemas of sweeps, for requests and responses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Name, Output, Pk, RunName, Username, Word, is_unstorable
from runs.launching.budgets.schemas import HoursOut
from runs.launching.schemas import PresetName
from runs.launching.sweeps.status import SweepStatus
from runs.launching.sweeps.table import CellRow

Grid = dict[Word, Annotated[list[Any], Field(max_length=1000)]]
Cells = Annotated[list[dict[Word, Any]], Field(max_length=1000)]
Seeds = Annotated[list[int], Field(max_length=1000)]


class SweepValues(Input):
    """Values of a sweep that the database can hold."""

    grid: Grid = Field(default_factory=dict)
    cells: Cells = Field(default_factory=list)

    @model_validator(mode="after")
    def _fits(self) -> SweepValues:
        if any(is_unstorable(getattr(self, name)) for name in ("grid", "cells", "config") if hasattr(self, name)):
            raise ValueError("values must contain no NUL characters and no unpaired surrogates")
        return self


class NewSweep(SweepValues):
    """Sweep to launch: `grid` (key -> values, all combinations) or `cells` (a list of key -> value), for each seed.

    Give `experiment`, or `experiment_name`: your experiment of that name, which is created if it is new.
    """

    experiment: Pk | None = None
    experiment_name: Name | None = None
    preset: PresetName = ""
    config: dict[str, Any] = Field(default_factory=dict)
    name: RunName = ""
    seeds: Seeds = Field(default_factory=lambda: [0])
    at_once: int = 4

    @model_validator(mode="after")
    def _names_experiment(self) -> NewSweep:
        if (self.experiment is None) == (self.experiment_name is None):
            raise ValueError("give either experiment (its id) or experiment_name")
        return self


class MoreOfSweep(SweepValues):
    """Additions to a sweep: `grid`, more values of its keys, or `cells` if it is a list of cells; and more `seeds`.

    `at_once` is how many runs may be on their clusters at a time from now on.
    """

    seeds: Seeds = Field(default_factory=list)
    at_once: int | None = None


class PlannedOut(Output):
    """Run that a sweep would have."""

    cell: dict[str, Any]
    seed: int
    config: dict[str, Any]


class SweepPlanOut(Schema):
    """Plan of a sweep: number of its runs, their estimated hours, and the first few of them.

    `unknown` runs have no estimate, because no run of their size has succeeded there yet.
    """

    runs: int
    estimated: HoursOut
    unknown: int
    first: list[PlannedOut]


class SweepOut(Output):
    """Sweep with its progress.

    `state` is running, paused, cancelled or done; `waiting` runs are not released to their clusters yet,
    `queued` runs wait in the queues of their clusters, and `running` runs have begun.
    """

    id: int
    name: str
    experiment: int = Field(validation_alias="experiment_id")
    preset: str
    created_by: Username
    created_at: datetime
    at_once: int
    paused_at: datetime | None
    cancelled_at: datetime | None
    url: str = Field(validation_alias="get_absolute_url")
    config: dict[str, Any] = Field(validation_alias="base")
    grid: dict[str, list[Any]]
    cells: list[dict[str, Any]]
    seeds: list[int]
    state: str
    states: dict[str, int]
    runs: int
    ended: int
    waiting: int
    queued: int
    running: int
    spent: HoursOut
    estimated: HoursOut
    unknown: int

    @classmethod
    def from_status(cls, now: SweepStatus, **more: Any) -> Self:
        """Return the sweep as JSON; `more` holds the fields that a wider schema adds."""
        counts = {name: getattr(now, name) for name in ("ended", "waiting", "queued", "running", "unknown")}
        return cls.from_row(
            now.sweep, state=now.word, states=dict(now.states), runs=now.total, spent=now.spent,
            estimated=now.estimated, **counts, **more,
        )  # fmt: skip


class SweepLine(Output):
    """Sweep in a list."""

    id: int
    name: str
    experiment: int = Field(validation_alias="experiment_id")
    created_by: Username
    created_at: datetime
    at_once: int
    paused_at: datetime | None
    cancelled_at: datetime | None
    url: str = Field(validation_alias="get_absolute_url")


class SweepsOut(Schema):
    """Sweeps, newest first. If `next` is not null there are more: send it back as `cursor`."""

    items: list[SweepLine]
    next: int | None = None


class SeedOut(Output):
    """Run of a cell; `reward` is its newest held-out reward, or that at the cell's `common_step`."""

    uid: str
    seed: int
    state: str
    reward: float | None = Field(validation_alias="value")


class CellOut(Output):
    """Cell over its seeds: mean of the `n` runs that have a reward, and the band around it, as `spread` names it.

    Runs with only a part of their responses do not count. `mean` is null if the rewards were measured differently.
    `common_step` is the last step that all runs of the cell have, if they end at different steps; else null.
    """

    cell: dict[str, Any]
    runs: list[SeedOut]
    n: int
    mean: float | None
    low: float | None
    high: float | None
    spread: str
    common_step: int | None = None

    @classmethod
    def from_cell(cls, row: CellRow) -> Self:
        """Return the cell as JSON."""
        steps = row.summary.steps
        return cls.from_row(row.summary, cell=row.cell, runs=row.runs, common_step=steps[0] if steps else None)


class SweepDetail(SweepOut):
    """Sweep with its cells, in the order in which they were created."""

    table: list[CellOut]
