"""Look up the row that an address or a body names. Rows that the caller may not see are reported as missing: 404, not
403."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja.errors import HttpError

from judging.access import may_manage
from judging.models import Assignment, GoldSet, Judge, Rubric, Tournament, rubrics_by_name, rubrics_of
from runs.http import Caller, Invalid, SignedIn
from workers.config import Problem


def get_tournament(caller: Caller, pk: int, *, with_trash: bool = False) -> Tournament:
    """Return the tournament, its owner loaded. Raise Http404."""
    rows = (
        Tournament.objects.permitted_to(caller.person) if with_trash else Tournament.objects.visible_to(caller.person)
    )
    tournament = rows.select_related("owner").filter(pk=pk).first()
    if tournament is None:
        raise Http404(f"There is no tournament {pk} that you may see")
    return tournament


def own_tournament(caller: Caller, pk: int, *, with_trash: bool = False) -> Tournament:
    """Return a tournament that the caller manages. Raise Http404, or HttpError if it is another user's."""
    tournament = get_tournament(caller, pk, with_trash=with_trash)
    if not may_manage(caller.person, tournament):
        raise HttpError(403, f"Tournament {pk} belongs to {tournament.owner.get_username()}: use one of your own")
    return tournament


def get_rubric(tournament: Tournament, criterion: str) -> Rubric:
    """Return the rubric of this name, as files call it, or slug; the first if none is named. Raise Invalid."""
    names = rubrics_of(tournament)
    rubrics = rubrics_by_name(names)
    if not criterion and rubrics:
        return next(iter(rubrics.values()))
    if criterion not in rubrics:
        choices = ", ".join(map(repr, names.values())) or "none"
        raise Invalid(Problem("criterion", f"must be one of {choices}, not {criterion!r}"))
    return rubrics[criterion]


def get_judge(caller: Caller, pk: int) -> Judge:
    """Return a judge that the caller may see and that can be asked. Raise Invalid, because it is named in a body."""
    rows = Judge.objects.visible_to(caller.person).filter(kind=Judge.Kind.OPENAI, retired_at=None)
    judge = rows.select_related("owner", "key").filter(pk=pk).first()
    if judge is None:
        raise Invalid(
            Problem(
                "judge", f"must be the number of a judge that can be asked, not {pk}: GET /api/v1/judges lists them"
            )
        )
    return judge


def judge_at(caller: Caller, pk: int) -> Judge:
    """Return any judge that the caller may see, by its address. Raise Http404."""
    judge = Judge.objects.visible_to(caller.person).select_related("owner", "key").filter(pk=pk).first()
    if judge is None:
        raise Http404(f"There is no judge {pk} that you may see")
    return judge


def get_gold_set(caller: Caller, pk: int) -> GoldSet:
    """Return a gold set that the caller may see. Raise Invalid, because it is named in a body."""
    gold_set = GoldSet.objects.visible_to(caller.person).filter(pk=pk).first()
    if gold_set is None:
        raise Invalid(
            Problem("gold_set", f"must be the number of a gold set, not {pk}: GET /api/v1/gold-sets lists them")
        )
    return gold_set


def get_assignment(caller: Caller, pk: int) -> Assignment:
    """Return the assignment, its judge loaded. Raise Http404."""
    assignment = visible_assignments(caller).filter(pk=pk).first()
    if assignment is None:
        raise Http404(f"There is no assignment {pk} that you may see")
    return assignment


def visible_assignments(caller: Caller) -> QuerySet[Assignment]:
    """Return the assignments that the caller may see, their judges loaded."""
    judges, tournaments = Judge.objects.visible_to(caller.person), Tournament.objects.visible_to(caller.person)
    seen = Q(gold_set__in=GoldSet.objects.visible_to(caller.person)) | Q(tournament__in=tournaments)
    return Assignment.objects.filter(seen, judge__in=judges).select_related("judge__owner", "tournament")


def visible_tournament(request: SignedIn, pk: int) -> Tournament:
    """Return the tournament, its owner loaded. Raise Http404."""
    return get_object_or_404(Tournament.objects.visible_to(request.user).select_related("owner", "gold_set"), pk=pk)


def manageable_tournament(request: SignedIn, pk: int, *, with_trash: bool = False) -> Tournament:
    """Return the tournament if the user manages it. Raise PermissionDenied if they can only see it, Http404 if they
    cannot."""
    queryset = (
        Tournament.objects.permitted_to(request.user) if with_trash else Tournament.objects.visible_to(request.user)
    )
    tournament = get_object_or_404(queryset.select_related("owner"), pk=pk)
    if not may_manage(request.user, tournament):
        raise PermissionDenied
    return tournament
