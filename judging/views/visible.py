"""What this person may see, or 404: nobody is told that something exists that they may not see."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from judging.access import may_look_after
from judging.models import Tournament
from runs.views.parameters import SignedIn


def visible_tournament(request: SignedIn, pk: int) -> Tournament:
    """The tournament, with its owner."""
    return get_object_or_404(Tournament.objects.visible_to(request.user).select_related("owner", "gold_set"), pk=pk)


def own_tournament(request: SignedIn, pk: int, *, with_bin: bool = False) -> Tournament:
    """The tournament, where the person looks after it. Raises PermissionDenied where they only see it."""
    among = Tournament.objects.permitted_to(request.user) if with_bin else Tournament.objects.visible_to(request.user)
    found = get_object_or_404(among.select_related("owner"), pk=pk)
    if not may_look_after(request.user, found):
        raise PermissionDenied
    return found
