"""Links for voters, over the API. A link is shown once; only its digest is kept."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from django.urls import reverse
from ninja import Schema
from pydantic import Field

from judging.http import own_tournament
from judging.models import Invitation
from judging.voting.invitations import CannotInvite, invite, take_back
from runs.http import ApiRequest, Input, Invalid, RowId, needs, once_secretly, router
from workers.config import Problem

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


EXAMPLE: dict[str, Any] = {"names": ["Dee", "Eve"], "days": 14}


@router.post(
    "/tournaments/{pk}/invitations",
    response={201: MadeInvitations},
    auth=needs("launch"),
    tags=["judging"],
    summary="Invite voters",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
@once_secretly
def invite_voters(request: ApiRequest, pk: RowId, new: NewInvitations) -> tuple[int, MadeInvitations]:
    """A link for each name, shown this once: whoever has it votes in this tournament and sees nothing else. Needs
    scope launch, and that the tournament is yours."""
    found = own_tournament(request.auth, pk)
    try:
        made = invite(found, request.auth.person, new.names, new.days)
    except CannotInvite as error:
        raise Invalid(Problem("names", str(error))) from error
    address = request.build_absolute_uri
    items = [
        MadeInvitation(**InvitationOut.of(one).dict(), link=address(reverse("vote-link", args=[text])))
        for one, text in made
    ]
    return 201, MadeInvitations(items=items)


@router.delete(
    "/invitations/{pk}", response={204: None}, auth=needs("launch"), tags=["judging"], summary="Take an invitation back"
)
def take_invitation_back(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Ends a link at once; what was voted by it stays. Needs scope launch, and that the tournament is yours. Safe to
    repeat."""
    found = Invitation.objects.filter(pk=pk).first()
    if found is None:
        raise Http404(f"There is no invitation {pk} that you may see")
    try:
        own_tournament(request.auth, found.tournament_id)
    except Http404:
        raise Http404(f"There is no invitation {pk} that you may see") from None
    take_back(found)
    return 204, None
