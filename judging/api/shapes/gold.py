"""Pairs that people have judged, as JSON."""

from __future__ import annotations

from datetime import datetime

from ninja import Schema

from judging.models import GoldSet
from runs.api.shapes.words import Input, Name


class GoldSetOut(Schema):
    """Pairs of answers whose better one is known from people, by some criteria."""

    id: int
    name: str
    owner: str
    is_private: bool
    pairs: int
    sha256: str
    created_at: datetime

    @classmethod
    def of(cls, row: GoldSet, pairs: int) -> GoldSetOut:
        """As anybody sees it who sees it."""
        return cls(
            id=row.pk, name=row.name, owner=row.owner.get_username(), is_private=row.is_private, pairs=pairs,
            sha256=row.sha256, created_at=row.created_at,
        )  # fmt: skip


class GoldSetsOut(Schema):
    """A page of gold sets; `next` is the cursor of the next one."""

    items: list[GoldSetOut]
    next: int | None


class NewGoldSet(Input):
    """What a file of pairs is to be called."""

    name: Name
    is_private: bool = False
