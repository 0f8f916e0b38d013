"""JSON schemas of imports."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from runs.http import Input, Name, Output, Pk, RowText, Word


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


class _Reported(Output):
    """A part of a result, read from an import or from an earlier reply that was stored."""

    model_config = ConfigDict(populate_by_name=True)


class ImportedRunOut(_Reported):
    """A run of an import. `url` is its page."""

    uid: str
    name: str
    state: RowText
    url: str = Field(validation_alias="get_absolute_url")


class NotUnderstood(_Reported):
    """A part that was left out. `place`: `line 12`, `byte 4096` or `seed 3`, or empty for the whole file."""

    place: str = Field(validation_alias="position")
    why: str = Field(validation_alias="reason")


class RefusedCellOut(_Reported):
    """A cell of a table, or a value of a log's line, that is not saved: its line, counted from 1, its column or label,
    its text (at most 80 characters) and the reason."""

    line: int
    column: str
    text: str
    why: str = Field(validation_alias="reason")


class ImportedFile(_Reported):
    """Report what became of a file. `went_on`: runs with a file that holds more now; `known`: runs that existed already
    and are not created again.

    `facts`: checks that agree; `disagreements`: sums in the file that differ from the values that they sum.
    `refused_cells`: the first 20 of them; `refused_cells_more` counts the others.
    """

    name: str
    kinds: Annotated[list[str], BeforeValidator(list)]
    records: int
    made: list[ImportedRunOut] = Field(validation_alias="new_runs")
    went_on: list[ImportedRunOut] = Field(validation_alias="continued_runs")
    known: list[ImportedRunOut] = Field(validation_alias="known_runs")
    facts: list[str] = Field(validation_alias="report.facts")
    disagreements: list[str] = Field(validation_alias="report.disagreements")
    not_understood: list[NotUnderstood] = Field(validation_alias="report.remarks")
    not_understood_more: int = Field(validation_alias="report.omitted_remarks")
    refused_cells: list[RefusedCellOut] = Field(validation_alias="report.refused_cells")
    refused_cells_more: int = Field(validation_alias="report.omitted_cells")


class NotRead(_Reported):
    """A file that has no known kind, or that cannot be read; `why` is the reason.

    `expected`: names that would do. `expected_what` says of what: "step columns" of a table without one, or "kinds" of
    files that are read; both are empty if the reason is another.
    """

    name: str
    why: str = Field(validation_alias="reason")
    expected_what: str
    expected: Annotated[list[str], BeforeValidator(list)]


class ImportedTo(_Reported):
    """Experiment of an import."""

    id: int
    name: str


class ImportedOut(_Reported):
    """Result of an import. `said` sums it up; `experiment` is null if no run was created or known.

    `joined`: evaluations that name their training now. `replaced`: means over seeds that are in the trash now, because
    their seeds were imported; `facts` and `disagreements` report whether these agree.
    """

    said: str = Field(validation_alias="sentence")
    experiment: ImportedTo | None
    made_experiment: bool = Field(validation_alias="target.is_new")
    files: list[ImportedFile] = Field(validation_alias="outcomes")
    joined: list[ImportedRunOut]
    replaced: list[ImportedRunOut]
    facts: list[str] = Field(validation_alias="report.facts")
    disagreements: list[str] = Field(validation_alias="report.disagreements")
    not_read: list[NotRead] = Field(validation_alias="refused")
