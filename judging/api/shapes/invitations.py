"""Links for voters, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field

from judging.models import Invitation
from runs.api.shapes.words import Input

Invited = Annotated[str, Field(max_length=100, pattern=r"^[^\x00]*$")]


class InvitationOut(Schema):
    """A link that was sent to somebody; what it is was shown once."""

    id: int
    name: str
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None

    @classmethod
    def of(cls, row: Invitation) -> InvitationOut:
        """Without the link."""
        return cls(
            id=row.pk, name=row.name, expires_at=row.expires_at, revoked_at=row.revoked_at,
            last_used_at=row.last_used_at,
        )  # fmt: skip


class NewInvitations(Input):
    """Names, a link each, good for so many days."""

    names: Annotated[list[Invited], Field(min_length=1, max_length=50)]
    days: int = 30


class MadeInvitation(InvitationOut):
    """With the link, which is shown this once."""

    link: str


class MadeInvitations(Schema):
    """One link for each name."""

    items: list[MadeInvitation]
