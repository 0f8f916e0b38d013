"""JSON schemas of experiments and presets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import Field

from runs.http import Input, Name, Note, Output, Tags, Text, Username
from runs.launching.presets.schemas import PresetNeedsOut


class NewExperiment(Input):
    """An experiment to create. A private one is visible only to its owner and admins."""

    name: Name
    question: Text = ""
    is_private: bool = False
    tags: Tags = Field(default_factory=list)
    note: Note = ""


class ChangedExperiment(Input):
    """A change of an experiment; fields that are left out stay. `archived` removes it from lists, or puts it back."""

    name: Name | None = None
    question: Text | None = None
    is_private: bool | None = None
    tags: Tags | None = None
    note: Note | None = None
    archived: bool | None = None


class ExperimentOut(Output):
    """A set of runs that share one question."""

    id: int
    name: str
    question: str
    owner: Username
    is_private: bool
    tags: list[str]
    note: str
    archived_at: datetime | None
    deleted_at: datetime | None
    created_at: datetime
    url: str = Field(validation_alias="get_absolute_url")


class ExperimentsOut(Schema):
    """Experiments, newest first. If `next` is not null there are more: send it back as `cursor`."""

    items: list[ExperimentOut]
    next: int | None = None


class PresetOut(Output):
    """A config to start from: its differences from the defaults, and their reason.

    `notes`: its differences from the publication and between sources. `needs`: hardware, files and services.
    """

    name: str
    title: str
    why: str
    notes: list[str]
    needs: PresetNeedsOut
    config: dict[str, Any]
