"""JSON schemas of the API for saved views."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from runs.http import NO_NUL, Input, Output, Pk, Username
from runs.models import SavedView

ViewName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=NO_NUL)]
Query = Annotated[str, StringConstraints(max_length=8_000, pattern=NO_NUL)]


class NewView(Input):
    """A page to save: `query` is the query string of its address, without the `?`."""

    name: ViewName
    page: SavedView.Page
    experiment: Pk | None = None
    query: Query = ""
    is_shared: bool = False

    @model_validator(mode="after")
    def _fits(self) -> NewView:
        if (self.page == SavedView.Page.EXPERIMENT) != (self.experiment is not None):
            raise ValueError("a view of the page experiment must name its experiment; other views must not")
        return self


class ChangedView(Input):
    """A change of a view; fields that are left out stay as they are."""

    name: ViewName | None = None
    query: Query | None = None
    is_shared: bool | None = None


class ViewOut(Output):
    """A saved view. `url` is the page as it was saved."""

    id: int
    name: str
    owner: Username
    page: str
    experiment: int | None = Field(validation_alias="experiment_id")
    query: str
    is_shared: bool
    created_at: datetime
    url: str = Field(validation_alias="target")


class ViewsOut(Schema):
    """Saved views by name: yours, and those that others share."""

    items: list[ViewOut]
