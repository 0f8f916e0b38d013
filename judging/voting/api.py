"""API endpoints of voters' links. A link is shown once; only its digest is stored."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from django.urls import reverse
from ninja import Schema
from pydantic import Field

from judging.http import own_tournament
from judging.models import Invitation
from judging.voting.invitations import InvitationRefused, create_invitations, revoke_invitation
from runs.http import ApiRequest, Input, Invalid, Output, RowId, idempotent_secret, needs, router
from workers.config import Problem

VoterName = Annotated[str, Field(max_length=100, pattern=r"^[^\x00]*$")]


class InvitationOut(Output):
    """A voter's invitation, without its link, which was shown once."""

    id: int
    name: str
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


class NewInvitations(Input):
    """Names of voters, who get one link each, valid for `days` days."""

    names: Annotated[list[VoterName], Field(min_length=1, max_length=50)]
    days: int = 30


class NewInvitationOut(InvitationOut):
    """A new invitation with its link, which is shown only now."""

    link: str


class NewInvitationsOut(Schema):
    """New invitations, one for each name."""

    items: list[NewInvitationOut]


EXAMPLE: dict[str, Any] = {"names": ["Dee", "Eve"], "days": 14}


@router.post(
    "/tournaments/{pk}/invitations",
    response={201: NewInvitationsOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Invite voters",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
@idempotent_secret
def invite_voters(request: ApiRequest, pk: RowId, new: NewInvitations) -> tuple[int, NewInvitationsOut]:
    """Create a link for each name, which is shown only now. Its holder votes in this tournament and sees nothing
    else. Needs scope launch, and that the tournament is yours."""
    tournament = own_tournament(request.auth, pk)
    try:
        created = create_invitations(tournament, request.auth.person, new.names, new.days)
    except InvitationRefused as error:
        raise Invalid(Problem("names", str(error))) from error
    address = request.build_absolute_uri
    items = [
        NewInvitationOut.from_row(invitation, link=address(reverse("vote-link", args=[text])))
        for invitation, text in created
    ]
    return 201, NewInvitationsOut(items=items)


@router.delete(
    "/invitations/{pk}", response={204: None}, auth=needs("launch"), tags=["judging"], summary="Revoke an invitation"
)
def take_invitation_back(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Revoke a link immediately; its votes stay. Needs scope launch, and that the tournament is yours. Safe to
    repeat."""
    invitation = Invitation.objects.filter(pk=pk).first()
    if invitation is None:
        raise Http404(f"There is no invitation {pk} that you may see")
    try:
        own_tournament(request.auth, invitation.tournament_id)
    except Http404:
        raise Http404(f"There is no invitation {pk} that you may see") from None
    revoke_invitation(invitation)
    return 204, None
