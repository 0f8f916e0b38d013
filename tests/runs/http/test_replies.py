"""Replies are read from the attributes of objects."""

from __future__ import annotations

from types import SimpleNamespace

from ninja import Schema
from pydantic import Field

from runs.http import AttemptNumber, Output, RunUid, Username


class RowOut(Output):
    """A reply with each kind of field."""

    name: str
    owner: Username
    run: RunUid | None
    attempt: AttemptNumber
    url: str = Field(validation_alias="get_address")
    label: str

    @staticmethod
    def resolve_label(row: SimpleNamespace) -> str:
        """Return a text of two attributes."""
        return f"{row.name} of {row.owner.username}"


class RowsOut(Schema):
    """Replies in a list."""

    items: list[RowOut]


ROW = SimpleNamespace(
    name="first", owner=SimpleNamespace(username="ada"), run=SimpleNamespace(uid="k3m9x2p7qa"),
    attempt=SimpleNamespace(n=2), get_address=lambda: "/rows/1/",
)  # fmt: skip
REPLY = {
    "name": "first", "owner": "ada", "run": "k3m9x2p7qa", "attempt": 2, "url": "/rows/1/", "label": "first of ada",
}  # fmt: skip


def test_reply_has_the_attributes_of_the_row() -> None:
    assert RowOut.from_row(ROW).model_dump() == REPLY


def test_reply_has_other_attributes_in_place_of_those_of_the_row() -> None:
    changed = RowOut.from_row(ROW, name="second", run=None).model_dump()
    assert changed == REPLY | {"name": "second", "run": None, "label": "second of ada"}


def test_reply_in_a_list_is_not_read_again() -> None:
    reply = RowOut.from_row(ROW)
    assert RowsOut(items=[reply]).items[0] is reply
