"""The queue, as JSON."""

from __future__ import annotations

from datetime import datetime

from ninja import Schema

from runs.api.shapes.words import Input, Word
from runs.queues import Entry


class NewPlace(Input):
    """Where a run is to go: a cluster, by its name."""

    cluster: Word


class EntryOut(Schema):
    """An attempt that runs or waits. `reason` is its cluster's or ours, and `explained` what that means. `held`: by a
    person. `position` is its place in the line of this machine, null elsewhere."""

    run: str
    name: str
    experiment: int
    sweep: int | None
    person: str
    attempt: str
    cluster: str
    state: str
    is_going: bool
    since: datetime
    reason: str
    explained: str
    held: bool
    position: int | None
    gpus: int
    cores: int

    @classmethod
    def of(cls, entry: Entry) -> EntryOut:
        """The entry as JSON."""
        run, attempt, (gpus, cores) = entry.run, entry.attempt, entry.resources
        return cls(
            run=run.uid, name=run.name, experiment=run.experiment_id, sweep=run.sweep_id,
            person=run.created_by.get_username(), attempt=attempt.key, cluster=str(attempt.cluster),
            state=attempt.state, is_going=entry.is_going, since=entry.since, reason=attempt.reason,
            explained=entry.explained, held=entry.is_held, position=entry.position, gpus=gpus, cores=cores,
        )  # fmt: skip


class QueueOut(Schema):
    """What runs, the newest first, then what waits, the oldest first; `going` and `waiting` count all of them."""

    going: int
    waiting: int
    items: list[EntryOut]
