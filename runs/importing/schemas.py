"""JSON schemas of imports."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Name, Pk, Word


class NewImport(Input):
    """Select the experiment of the runs: `experiment`, or `experiment_name`, one of yours, created if it is new.

    `path`: the names of the files with their folders, in the order of the files; settings are read from folders if logs
    state none."""

    experiment: Pk | None = None
    experiment_name: Name | None = None
    path: Annotated[list[Word], Field(max_length=100)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _fits(self) -> NewImport:
        if self.experiment is not None and self.experiment_name is not None:
            raise ValueError("give either experiment (its id) or experiment_name")
        return self


class ImportedRunOut(Schema):
    """A run of an import. `url` is its page."""

    uid: str
    name: str
    state: str
    url: str


class NotUnderstood(Schema):
    """A part that was left out. `place`: `line 12`, `byte 4096` or `seed 3`, or empty for the whole file."""

    place: str
    why: str


class ImportedFile(Schema):
    """Report what became of a file. `went_on`: runs with a file that holds more now; `known`: runs that existed already
    and are not created again.

    `facts`: checks that agree; `disagreements`: sums in the file that differ from the values that they sum.
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
    """A file that has no known kind, or that cannot be read; `why` is the reason."""

    name: str
    why: str


class ImportedTo(Schema):
    """Experiment of an import."""

    id: int
    name: str


class ImportedOut(Schema):
    """Result of an import. `said` sums it up; `experiment` is null if no run was created or known.

    `joined`: evaluations that name their training now. `replaced`: means over seeds that are in the trash now, because
    their seeds were imported; `facts` and `disagreements` report whether these agree.
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
