"""Imports as JSON."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Name, Pk, Word


class NewImport(Input):
    """Select where the runs go: `experiment`, or `experiment_name`, one of yours, created if it is new. `path`: the
    names of the files with their folders, in the order of the files; folders say how runs were made if logs do not."""

    experiment: Pk | None = None
    experiment_name: Name | None = None
    path: Annotated[list[Word], Field(max_length=100)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _fits(self) -> NewImport:
        if self.experiment is not None and self.experiment_name is not None:
            raise ValueError("give either experiment, its id, or experiment_name")
        return self


class ImportedRunOut(Schema):
    """A run of an import. `url` is its page."""

    uid: str
    name: str
    state: str
    url: str


class NotUnderstood(Schema):
    """Something that was left out: `line 12`, `byte 4096`, `seed 3`; the place is empty where it is the whole file."""

    place: str
    why: str


class ImportedFile(Schema):
    """Report what became of a file. `went_on`: runs whose file holds more now; `known`: runs that were already here and
    are not made again.

    `facts`: checks that agree; `disagreements`: sums in the file that differ from what they sum up.
    """

    name: str
    kinds: list[str]
    records: int
    made: list[ImportedRunOut]
    went_on: list[ImportedRunOut]
    known: list[ImportedRunOut]
    facts: list[str]
    disagreements: list[str]
    not_understood: list[NotUnderstood]
    not_understood_more: int


class NotRead(Schema):
    """A file that is of no kind that is read, or that cannot be."""

    name: str
    why: str


class ImportedTo(Schema):
    """The experiment."""

    id: int
    name: str


class ImportedOut(Schema):
    """Report what an import did. `said` sums it up; `experiment` is null if no run was made or known.

    `joined`: evaluations that name their training now. `replaced`: means over seeds whose seeds came, and that are in
    the trash now; `facts` and `disagreements` say whether these agree.
    """

    said: str
    experiment: ImportedTo | None
    made_experiment: bool
    files: list[ImportedFile]
    joined: list[ImportedRunOut]
    replaced: list[ImportedRunOut]
    facts: list[str]
    disagreements: list[str]
    not_read: list[NotRead]
