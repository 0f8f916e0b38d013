"""Look up the row that an address or a body names. What a caller may not see does not exist for them: 404, not 403."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja.errors import HttpError

from judging.access import may_look_after
from judging.models import Assignment, GoldSet, Judge, Rubric, Tournament, rubrics_by_name, rubrics_of
from runs.http import Caller, Invalid, SignedIn
from workers.config import Problem


def the_tournament(caller: Caller, pk: int, *, with_bin: bool = False) -> Tournament:
    """The tournament, its owner at hand. Raises Http404."""
    rows = Tournament.objects.permitted_to(caller.person) if with_bin else Tournament.objects.visible_to(caller.person)
    found = rows.select_related("owner").filter(pk=pk).first()
    if found is None:
        raise Http404(f"There is no tournament {pk} that you may see")
    return found


def own_tournament(caller: Caller, pk: int, *, with_bin: bool = False) -> Tournament:
    """One that the caller looks after. Raises Http404, HttpError."""
    found = the_tournament(caller, pk, with_bin=with_bin)
    if not may_look_after(caller.person, found):
        raise HttpError(403, f"Tournament {pk} belongs to {found.owner.get_username()}: take one of your own")
    return found


def the_rubric(tournament: Tournament, criterion: str) -> Rubric:
    """Return the rubric of this name, as files call it, or slug; the first if none is named. Raise Invalid."""
    names = rubrics_of(tournament)
    rubrics = rubrics_by_name(names)
    if not criterion and rubrics:
        return next(iter(rubrics.values()))
    if criterion not in rubrics:
        choices = ", ".join(map(repr, names.values())) or "none"
        raise Invalid(Problem("criterion", f"must be one of {choices}, not {criterion!r}"))
    return rubrics[criterion]


def the_judge(caller: Caller, pk: int) -> Judge:
    """A judge that the caller may see and that can be asked. Raises Invalid: it is named in a body."""
    rows = Judge.objects.visible_to(caller.person).filter(kind=Judge.Kind.OPENAI, retired_at=None)
    found = rows.select_related("owner", "key").filter(pk=pk).first()
    if found is None:
        raise Invalid(Problem("judge", f"there is no judge {pk} that can be asked: GET /api/v1/judges lists them"))
    return found


def judge_at(caller: Caller, pk: int) -> Judge:
    """Any judge that the caller may see, by its address. Raises Http404."""
    found = Judge.objects.visible_to(caller.person).select_related("owner", "key").filter(pk=pk).first()
    if found is None:
        raise Http404(f"There is no judge {pk} that you may see")
    return found


def the_gold_set(caller: Caller, pk: int) -> GoldSet:
    """A gold set that the caller may see. Raises Invalid: it is named in a body."""
    found = GoldSet.objects.visible_to(caller.person).filter(pk=pk).first()
    if found is None:
        raise Invalid(Problem("gold_set", f"there is no gold set {pk}: GET /api/v1/gold-sets lists them"))
    return found


def the_assignment(caller: Caller, pk: int) -> Assignment:
    """The assignment, its judge at hand. Raises Http404."""
    found = the_assignments(caller).filter(pk=pk).first()
    if found is None:
        raise Http404(f"There is no assignment {pk} that you may see")
    return found


def the_assignments(caller: Caller) -> QuerySet[Assignment]:
    """Those that the caller may see, their judges at hand."""
    judges, tournaments = Judge.objects.visible_to(caller.person), Tournament.objects.visible_to(caller.person)
    seen = Q(gold_set__in=GoldSet.objects.visible_to(caller.person)) | Q(tournament__in=tournaments)
    return Assignment.objects.filter(seen, judge__in=judges).select_related("judge__owner", "tournament")


def visible_tournament(request: SignedIn, pk: int) -> Tournament:
    """The tournament, with its owner."""
    return get_object_or_404(Tournament.objects.visible_to(request.user).select_related("owner", "gold_set"), pk=pk)


def manageable_tournament(request: SignedIn, pk: int, *, with_bin: bool = False) -> Tournament:
    """The tournament, where the person looks after it. Raises PermissionDenied where they only see it."""
    among = Tournament.objects.permitted_to(request.user) if with_bin else Tournament.objects.visible_to(request.user)
    found = get_object_or_404(among.select_related("owner"), pk=pk)
    if not may_look_after(request.user, found):
        raise PermissionDenied
    return found
