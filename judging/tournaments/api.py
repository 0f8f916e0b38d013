"""API of tournaments (create, read, pause, close, delete and restore) and of their verdicts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from ninja import P, QueryEx
from ninja.errors import HttpError

from judging import judge_runs
from judging.access import may_look_after, may_unblind
from judging.http import own_tournament, the_gold_set, the_rubric, the_tournament
from judging.judge_runs.schemas import AssignmentOut
from judging.judges import make_standard, newest_rubrics
from judging.models import JudgmentFile, Rubric, Tournament, Verdict, rubrics_of
from judging.tournaments.commands import CannotMake, Draft, Entry, close, delete, go_on, make, pause, restore
from judging.tournaments.names import called, speakers
from judging.tournaments.schemas import (
    ChangedTournament,
    ContestantOut,
    CriterionOut,
    EntryIn,
    NewTournament,
    TournamentDetail,
    TournamentOut,
    TournamentsOut,
    VerdictOut,
    VerdictsOut,
)
from judging.voting import judged
from judging.voting.api import InvitationOut
from runs.http import EXAMPLE_UID, ApiRequest, Caller, Id, Invalid, Limit, RowId, Words, needs, once, page, router
from runs.models import Run
from workers.config import Problem

NEW = {
    "name": "Is ES more helpful?",
    "contestants": [{"run": EXAMPLE_UID, "step": 0}, {"run": EXAMPLE_UID, "step": 5}],
    "criteria": ["helpfulness"],
    "prompts": 1,
}
SHOWN = 100
Shelf = QueryEx[Literal["current", "bin"], P(description="bin: deleted, and can be restored")]
Criterion = QueryEx[
    str, P(max_length=250, pattern=r"^[^\x00]*$", description="by its name in the tournament; else its first one")
]


def _body(example: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"example": example}}}}


@router.get("/tournaments", response=TournamentsOut, auth=needs("read"), tags=["judging"], summary="List tournaments")
def list_tournaments(
    request: ApiRequest, q: Words = "", shelf: Shelf = "current", cursor: Id = None, limit: Limit = 50
) -> TournamentsOut:
    """List the tournaments that you may see, newest first, page by page; or those in the bin."""
    found = _with_imports(Tournament.objects.permitted_to(request.auth.person))
    found = found.filter(deleted_at__isnull=shelf == "current")
    for word in q.split():
        found = found.filter(Q(name__icontains=word) | Q(question__icontains=word))
    items, following = page(found.select_related("owner"), cursor, limit)
    return TournamentsOut(items=[TournamentOut(**TournamentOut.said(one)) for one in items], next=following)


@router.post(
    "/tournaments",
    response={201: TournamentDetail},
    auth=needs("launch"),
    tags=["judging"],
    summary="Make a tournament",
    openapi_extra=_body(NEW),
)
@once
def make_tournament(request: ApiRequest, new: NewTournament) -> tuple[int, TournamentDetail]:
    """Create a tournament, in which greedy responses meet in blind pairs.

    Contestants are two or more runs, or one run at several steps. The prompts are among those that all contestants have
    responses to. Needs scope launch.
    """
    make_standard()
    entries = [_entry(request.auth, n, one) for n, one in enumerate(new.contestants)]
    said = new.dict(exclude={"contestants", "criteria", "gold_set"})
    gold = None if new.gold_set is None else the_gold_set(request.auth, new.gold_set)
    draft = Draft(entries=entries, rubrics=_newest(request.auth, new.criteria), gold_set=gold, **said)
    try:
        made = make(request.auth.person, draft)
    except CannotMake as error:
        raise HttpError(409, str(error)) from error
    return 201, detail(request.auth, made)


@router.get(
    "/tournaments/{pk}",
    response=TournamentDetail,
    auth=needs("read"),
    tags=["judging"],
    summary="Read a tournament",
)
def read_tournament(request: ApiRequest, pk: RowId) -> TournamentDetail:
    """Return a tournament: its contestants, criteria, progress and the judges at work.

    Its owner and admins also get the invitations.
    """
    return detail(request.auth, the_tournament(request.auth, pk))


@router.patch(
    "/tournaments/{pk}",
    response=TournamentDetail,
    auth=needs("launch"),
    tags=["judging"],
    summary="Pause, close or open a tournament",
    openapi_extra=_body({"state": "paused"}),
)
def change_tournament(request: ApiRequest, pk: RowId, new: ChangedTournament) -> TournamentDetail:
    """Open, pause or close a tournament for votes.

    Needs scope launch, and that you are the owner or an admin. Safe to repeat.
    """
    found = own_tournament(request.auth, pk)
    with transaction.atomic():
        if new.state != "closed":
            go_on(found)
        if new.state != "open":
            (pause if new.state == "paused" else close)(found)
    return detail(request.auth, the_tournament(request.auth, pk))


@router.delete(
    "/tournaments/{pk}", response={204: None}, auth=needs("launch"), tags=["judging"], summary="Delete a tournament"
)
def delete_tournament(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Move a tournament to the bin, from which it can be restored for 30 days.

    Meanwhile its links let nobody in. Needs scope launch, and that you are the owner or an admin.
    """
    delete(own_tournament(request.auth, pk), request.auth.person)
    return 204, None


@router.post(
    "/tournaments/{pk}/restore",
    response=TournamentDetail,
    auth=needs("launch"),
    tags=["judging"],
    summary="Restore a tournament",
)
def restore_tournament(request: ApiRequest, pk: RowId) -> TournamentDetail:
    """Restore a tournament from the bin, unchanged.

    Needs scope launch, and that you are the owner or an admin. Safe to repeat.
    """
    found = own_tournament(request.auth, pk, with_bin=True)
    restore(found)
    return detail(request.auth, found)


@router.get(
    "/tournaments/{pk}/verdicts",
    response=VerdictsOut,
    auth=needs("read"),
    tags=["judging"],
    summary="List verdicts",
)
def list_verdicts(
    request: ApiRequest,
    pk: RowId,
    criterion: Criterion = "",
    every: Annotated[bool, P(description="those too that were replaced or taken back")] = False,
    cursor: Id = None,
    limit: Limit = 50,
) -> VerdictsOut:
    """List the verdicts of voters, by number, and of judges by one criterion, in the order in which they were given.

    Outcomes and scores refer to `a` and `b`, whichever was shown first. Until the tournament is closed, this needs that
    you are its owner or an admin: a voter must not see others' verdicts.
    """
    found = the_tournament(request.auth, pk)
    if found.closed_at is None:
        own_tournament(request.auth, pk)
    rows = Verdict.objects.filter(
        comparison__tournament=found, comparison__gold_pair=None, rubric=the_rubric(found, criterion)
    )
    related = rows.select_related("comparison__a", "comparison__b")
    items, following = page(related if every else related.current(), cursor, limit, newest_first=False)
    return VerdictsOut(items=_said(found, items), next=following)


def detail(caller: Caller, found: Tournament) -> TournamentDetail:
    """Return everything about a tournament that the caller may see."""
    row = _with_imports(Tournament.objects.filter(pk=found.pk)).select_related("owner").get()
    own = may_look_after(caller.person, row)
    at_work = list(row.assignments.select_related("judge").order_by("-pk")[:SHOWN])
    invited = row.invitations.order_by("pk") if own else None
    pairs = row.comparisons.between_contestants()
    verdicts = Verdict.objects.comparing().filter(comparison__tournament=row)
    return TournamentDetail(
        **TournamentOut.said(row),
        contestants=_contestants(caller, row),
        criteria=[CriterionOut(name=n, rubric=str(r), digest=r.digest) for r, n in rubrics_of(row).items()],
        seed=row.seed if may_unblind(caller.person, row) else None,
        overlap=row.overlap,
        picks=row.picks,
        reveals=row.reveals,
        warns=row.warns,
        gold_set=row.gold_set_id if own else None,
        gold_every=row.gold_every if own and row.gold_set_id else None,
        prompts=row.chosen_prompts.count(),
        pairs=pairs.filter(is_identical=False).count(),
        identical=pairs.filter(is_identical=True).count(),
        judged=judged({row.pk: row})[row.pk],
        verdicts=verdicts.count(),
        assignments=[AssignmentOut.of(*one) for one in zip(at_work, judge_runs.standings(at_work), strict=True)],
        invitations=None if invited is None else [InvitationOut.of(one) for one in invited],
    )


def _with_imports(rows: QuerySet[Tournament]) -> QuerySet[Tournament]:
    return rows.annotate(imported=Exists(JudgmentFile.objects.filter(tournament=OuterRef("pk"))))


def _contestants(caller: Caller, found: Tournament) -> list[ContestantOut]:
    rows = list(found.contestants.select_related("run").order_by("place"))
    seen = set(Run.objects.visible_to(caller.person).filter(contestants__in=rows).values_list("uid", flat=True))
    return [
        ContestantOut(name=one.name, run=one.run.uid if one.run and one.run.uid in seen else None, step=one.step,
                      split=one.split)
        for one in rows
    ]  # fmt: skip


def _entry(caller: Caller, n: int, said: EntryIn) -> Entry:
    run = Run.objects.visible_to(caller.person).filter(uid=said.run).first()
    if run is None:
        raise Invalid(Problem(f"contestants.{n}.run", f"there is no run {said.run} that you may see"))
    return Entry(run, said.step, said.split)


def _newest(caller: Caller, slugs: list[str]) -> list[Rubric]:
    known = {rubric.criterion.slug: rubric for rubric in newest_rubrics(caller.person)}
    unknown = [slug for slug in slugs if slug not in known]
    if unknown:
        raise Invalid(Problem("criteria", f"must be of {', '.join(known)}, not {', '.join(unknown)}"))
    return [known[slug] for slug in dict.fromkeys(slugs)]


def _said(found: Tournament, rows: list[Verdict]) -> list[VerdictOut]:
    who, prompts = speakers(found), called(list(found.chosen_prompts.select_related("prompt")))
    names = {rubric.pk: name for rubric, name in rubrics_of(found).items()}
    return [
        VerdictOut(
            id=one.pk, criterion=names[one.rubric_id], prompt=prompts[one.comparison.prompt_id or 0],
            a=str(one.comparison.a), b=str(one.comparison.b), outcome=one.outcome, first=one.first,
            score_a=one.score_a, score_b=one.score_b, by=who.name(one.voter_id, one.judge_id),
            is_person=one.judge_id is None, sample=one.sample, is_blind=one.is_blind, at=one.at,
        )
        for one in rows
    ]  # fmt: skip
