"""Files of judgments, as JSON."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field

from runs.api.shapes.words import Input, Pk


class NewJudgments(Input):
    """Where the judgments go: `into`, a tournament that you look after, by its id; else one of that name of yours that
    was imported before, or a new one. The first file's name where none is said."""

    into: Pk | None = None
    name: Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")] = ""
    is_private: bool = False


class JudgmentsOfFile(Schema):
    """What became of a file. `alone`: judgments that name no prompt, each its own. `problems`: the first 100 of
    `not_read` rows, each with its line. `repeated`: the first 100 of `duplicates`, rows that only repeat an earlier one
    of the file and are no judgment more."""

    name: str
    read: int
    made: int
    changed: int
    alone: int
    not_read: int
    problems: list[str]
    duplicates: int
    repeated: list[str]


class BroughtOut(Schema):
    """What an import did. `tournament` is null where no file held a judgment; `is_new`: it was made for them."""

    said: str
    tournament: int | None
    is_new: bool
    files: list[JudgmentsOfFile]
