"""JSON schemas of the API for the caller and for tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from runs import access
from runs.http import NO_NUL, Input, RunName
from runs.models import ApiToken


class MeOut(Schema):
    """The user that you act for, and the scope and expiry of your token; null for a browser."""

    username: str
    role: str
    scope: str | None
    expires_at: datetime | None


class NewToken(Input):
    """A token to create. A token of scope ingest names the run that it writes; the others name none."""

    scope: Literal["read", "ingest", "report", "launch", "serve", "admin"]
    name: Annotated[str, StringConstraints(max_length=100, pattern=NO_NUL)] = ""
    days: Annotated[int, Field(ge=1, le=access.MAX_DAYS)] = access.DAYS
    run: RunName | None = None


class TokenOut(Schema):
    """A token of yours. Its text is not stored, and not shown again."""

    id: int
    name: str
    scope: str
    run: str | None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None

    @classmethod
    def from_token(cls, token: ApiToken) -> TokenOut:
        return cls(
            id=token.pk, name=token.name, scope=token.scope, run=token.run.uid if token.run else None,
            created_at=token.created_at, expires_at=token.expires_at, last_used_at=token.last_used_at,
        )  # fmt: skip


class TokensOut(Schema):
    """Your tokens, newest first."""

    items: list[TokenOut]


class MadeTokenOut(Schema):
    """A new token and its text, which is shown only in this reply."""

    token: TokenOut
    text: str
