"""JSON schemas of responses to pushes."""

from __future__ import annotations

from ninja import Schema


class PushOut(Schema):
    """Result of a push: `kept`, the number of new records, and `next_seq`, the next expected seq."""

    kept: int
    next_seq: int
