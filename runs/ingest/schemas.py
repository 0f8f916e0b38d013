"""JSON schemas of responses to pushes."""

from __future__ import annotations

from ninja import Schema


class RecordProblemOut(Schema):
    """A record that was stored without its time, by its line in the push or its entry in the column t."""

    path: str
    message: str


class PushOut(Schema):
    """Result of a push: `kept`, the number of new records, and `next_seq`, the next expected seq.

    `problems` names records that are stored, but have no time in Unix seconds, with the likely unit; absent if none.
    """

    kept: int
    next_seq: int
    problems: list[RecordProblemOut] | None = None
