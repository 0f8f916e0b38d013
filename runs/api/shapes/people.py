"""Who calls, their tokens, and the views that they saved, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from runs import access
from runs.api.shapes.words import NO_NUL, Input, Pk, RunName
from runs.models import ApiToken, SavedView

ViewName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=NO_NUL)]
Query = Annotated[str, StringConstraints(max_length=8_000, pattern=NO_NUL)]


class MeOut(Schema):
    """Who you are to this site, and what you showed: a token's scope and end, null for a browser."""

    username: str
    role: str
    scope: str | None
    expires_at: datetime | None


class NewToken(Input):
    """A token to make. One of scope ingest names the run that it writes; the others name none."""

    scope: Literal["read", "ingest", "launch", "serve", "admin"]
    name: Annotated[str, StringConstraints(max_length=100, pattern=NO_NUL)] = ""
    days: Annotated[int, Field(ge=1, le=access.MAX_DAYS)] = access.DAYS
    run: RunName | None = None


class TokenOut(Schema):
    """A token of yours. Its text is not kept, and not shown again."""

    id: int
    name: str
    scope: str
    run: str | None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None

    @classmethod
    def of(cls, token: ApiToken) -> TokenOut:
        return cls(
            id=token.pk, name=token.name, scope=token.scope, run=token.run.uid if token.run else None,
            created_at=token.created_at, expires_at=token.expires_at, last_used_at=token.last_used_at,
        )  # fmt: skip


class TokensOut(Schema):
    """Your tokens, newest first."""

    items: list[TokenOut]


class MadeTokenOut(Schema):
    """A new token and its text, which is shown this once."""

    token: TokenOut
    text: str


class NewView(Input):
    """A page to save: `query` is what stands after the ? of its address."""

    name: ViewName
    page: SavedView.Page
    experiment: Pk | None = None
    query: Query = ""
    is_shared: bool = False

    @model_validator(mode="after")
    def _fits(self) -> NewView:
        if (self.page == SavedView.Page.EXPERIMENT) != (self.experiment is not None):
            raise ValueError("a view of the page experiment names its experiment, and no other does")
        return self


class ChangedView(Input):
    """What shall change; what is left out stays."""

    name: ViewName | None = None
    query: Query | None = None
    is_shared: bool | None = None


class ViewOut(Schema):
    """A saved view. `url` is the page as it was saved."""

    id: int
    name: str
    owner: str
    page: str
    experiment: int | None
    query: str
    is_shared: bool
    created_at: datetime
    url: str

    @classmethod
    def of(cls, view: SavedView) -> ViewOut:
        return cls(
            id=view.pk, name=view.name, owner=view.owner.get_username(), page=view.page,
            experiment=view.experiment_id, query=view.query, is_shared=view.is_shared,
            created_at=view.created_at, url=view.target,
        )  # fmt: skip


class ViewsOut(Schema):
    """Saved views by name: yours, and those that others share."""

    items: list[ViewOut]
