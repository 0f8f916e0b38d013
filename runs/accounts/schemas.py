"""JSON schemas of the API for the caller and for tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from runs import access
from runs.http import NO_NUL, Input, Output, RunName, RunUid
from runs.models.token import SCOPES


class MeOut(Schema):
    """The user that you act for, and the scope and expiry of your token; null for a browser."""

    username: str
    role: str
    scope: str | None
    expires_at: datetime | None


class NewToken(Input):
    """A token to create. A token of scope ingest names the run that it writes; the others name none."""

    scope: Literal[*SCOPES]  # type: ignore[valid-type]
    name: Annotated[str, StringConstraints(max_length=100, pattern=NO_NUL)] = ""
    days: Annotated[int, Field(ge=1, le=access.MAX_DAYS)] = access.DAYS
    run: RunName | None = None


class TokenOut(Output):
    """A token of yours. Its text is not stored, and not shown again."""

    id: int
    name: str
    scope: str
    run: RunUid | None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class TokensOut(Schema):
    """Your tokens, newest first."""

    items: list[TokenOut]


class MadeTokenOut(Schema):
    """A new token and its text, which is shown only in this reply."""

    token: TokenOut
    text: str
