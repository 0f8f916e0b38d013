"""API of tournaments (create, read, pause, close, delete and restore) and of their verdicts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from ninja import P, QueryEx
from ninja.errors import HttpError

from judging.access import may_manage, may_unblind
from judging.http import get_gold_set, get_rubric, get_tournament, own_tournament
from judging.judge_runs.schemas import AssignmentOut
from judging.judges import create_standard_rubrics, newest_rubrics
from judging.models import JudgmentFile, Rubric, Tournament, Verdict, rubrics_of
from judging.models.tournament_settings import SECRETS, SETTINGS
from judging.tournaments.commands import (
    Entry,
    TournamentRefused,
    close,
    create_tournament,
    move_to_trash,
    pause,
    restore,
    resume,
)
from judging.tournaments.names import get_prompt_names, get_rater_names
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
from judging.voting import count_judged_pairs
from runs.http import (
    EXAMPLE_UID,
    ApiRequest,
    Caller,
    Id,
    Invalid,
    Limit,
    RowId,
    Words,
    idempotent,
    needs,
    paginate,
    router,
)
from runs.models import Run
from workers.config import Problem

NEW = {
    "name": "Is ES more helpful?",
    "contestants": [{"run": EXAMPLE_UID, "step": 0}, {"run": EXAMPLE_UID, "step": 5}],
    "criteria": ["helpfulness"],
    "prompts": 1,
}
MAX_ASSIGNMENTS = 100
Shelf = QueryEx[Literal["current", "bin"], P(description="bin: the trash; tournaments there can be restored")]
Criterion = QueryEx[
    str,
    P(max_length=250, pattern=r"^[^\x00]*$", description="the criterion's name in the tournament; default: its first"),
]


def _body(example: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"example": example}}}}


@router.get("/tournaments", response=TournamentsOut, auth=needs("read"), tags=["judging"], summary="List tournaments")
def list_tournaments(
    request: ApiRequest, q: Words = "", shelf: Shelf = "current", cursor: Id = None, limit: Limit = 50
) -> TournamentsOut:
    """List the tournaments that you may see, newest first, page by page; or those in the trash."""
    rows = _with_imports(Tournament.objects.permitted_to(request.auth.person))
    rows = rows.filter(deleted_at__isnull=shelf == "current")
    for word in q.split():
        rows = rows.filter(Q(name__icontains=word) | Q(question__icontains=word))
    items, following = paginate(rows.select_related("owner"), cursor, limit)
    return TournamentsOut(items=[TournamentOut.from_row(row) for row in items], next=following)


@router.post(
    "/tournaments",
    response={201: TournamentDetail},
    auth=needs("launch"),
    tags=["judging"],
    summary="Create a tournament",
    openapi_extra=_body(NEW),
)
@idempotent
def make_tournament(request: ApiRequest, new: NewTournament) -> tuple[int, TournamentDetail]:
    """Create a tournament, in which greedy responses meet in blind pairs.

    Contestants are two or more runs, or one run at several steps. The prompts are among those that all contestants have
    responses to. Needs scope launch.
    """
    create_standard_rubrics()
    entries = [_entry(request.auth, n, entry) for n, entry in enumerate(new.contestants)]
    settings = new.dict(include=set(SETTINGS))
    if settings["gold_set"] is not None:
        settings["gold_set"] = get_gold_set(request.auth, settings["gold_set"])
    tournament = Tournament(owner=request.auth.person, **settings)
    try:
        create_tournament(tournament, entries, _newest_rubrics(request.auth, new.criteria), new.prompts)
    except TournamentRefused as error:
        raise HttpError(409, str(error)) from error
    return 201, detail(request.auth, tournament)


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
    return detail(request.auth, get_tournament(request.auth, pk))


@router.patch(
    "/tournaments/{pk}",
    response=TournamentDetail,
    auth=needs("launch"),
    tags=["judging"],
    summary="Pause, close or reopen a tournament",
    openapi_extra=_body({"state": "paused"}),
)
def change_tournament(request: ApiRequest, pk: RowId, new: ChangedTournament) -> TournamentDetail:
    """Open, pause or close a tournament for votes.

    Needs scope launch, and that you are the owner or an admin. Safe to repeat.
    """
    tournament = own_tournament(request.auth, pk)
    with transaction.atomic():
        if new.state != "closed":
            resume(tournament)
        if new.state != "open":
            (pause if new.state == "paused" else close)(tournament)
    return detail(request.auth, get_tournament(request.auth, pk))


@router.delete(
    "/tournaments/{pk}", response={204: None}, auth=needs("launch"), tags=["judging"], summary="Delete a tournament"
)
def delete_tournament(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Move a tournament to the trash, from which it can be restored for 30 days.

    Meanwhile its links are invalid. Needs scope launch, and that you are the owner or an admin.
    """
    move_to_trash(own_tournament(request.auth, pk), request.auth.person)
    return 204, None


@router.post(
    "/tournaments/{pk}/restore",
    response=TournamentDetail,
    auth=needs("launch"),
    tags=["judging"],
    summary="Restore a tournament",
)
def restore_tournament(request: ApiRequest, pk: RowId) -> TournamentDetail:
    """Restore a tournament from the trash, unchanged.

    Needs scope launch, and that you are the owner or an admin. Safe to repeat.
    """
    tournament = own_tournament(request.auth, pk, with_trash=True)
    restore(tournament)
    return detail(request.auth, tournament)


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
    every: Annotated[bool, P(description="include verdicts that were replaced or undone")] = False,
    cursor: Id = None,
    limit: Limit = 50,
) -> VerdictsOut:
    """List the verdicts of voters, by number, and of judges by one criterion, in the order in which they were given.

    Outcomes and scores refer to `a` and `b`, whichever was shown first. Until the tournament is closed, this needs that
    you are its owner or an admin: a voter must not see others' verdicts.
    """
    tournament = get_tournament(request.auth, pk)
    if tournament.closed_at is None:
        own_tournament(request.auth, pk)
    rows = Verdict.objects.filter(
        comparison__tournament=tournament, comparison__gold_pair=None, rubric=get_rubric(tournament, criterion)
    )
    related = rows.select_related("comparison__a", "comparison__b")
    items, following = paginate(related if every else related.current(), cursor, limit, newest_first=False)
    return VerdictsOut(items=_verdicts_out(tournament, items), next=following)


def detail(caller: Caller, tournament: Tournament) -> TournamentDetail:
    """Return everything about a tournament that the caller may see."""
    row = _with_imports(Tournament.objects.filter(pk=tournament.pk)).select_related("owner").get()
    is_manager = may_manage(caller.person, row)
    secrets = {"gold_set": row.gold_set_id} if is_manager else {}
    secrets |= {"gold_every": row.gold_every} if is_manager and row.gold_set_id else {}
    secrets |= {"seed": row.seed} if may_unblind(caller.person, row) else {}
    assignments = list(row.assignments.select_related("judge").order_by("-pk")[:MAX_ASSIGNMENTS])
    pairs = row.comparisons.between_contestants()
    verdicts = Verdict.objects.comparing().filter(comparison__tournament=row)
    return TournamentDetail.from_row(
        row,
        contestants=_contestants(caller, row),
        criteria=[CriterionOut(name=n, rubric=str(r), digest=r.digest) for r, n in rubrics_of(row).items()],
        **dict.fromkeys(SECRETS) | secrets,
        prompts=row.chosen_prompts.count(),
        pairs=pairs.filter(is_identical=False).count(),
        identical=pairs.filter(is_identical=True).count(),
        judged=count_judged_pairs({row.pk: row})[row.pk],
        verdicts=verdicts.count(),
        assignments=AssignmentOut.from_assignments(assignments),
        invitations=row.invitations.order_by("pk") if is_manager else None,
    )


def _with_imports(rows: QuerySet[Tournament]) -> QuerySet[Tournament]:
    return rows.annotate(imported=Exists(JudgmentFile.objects.filter(tournament=OuterRef("pk"))))


def _contestants(caller: Caller, tournament: Tournament) -> list[ContestantOut]:
    rows = list(tournament.contestants.select_related("run").order_by("place"))
    visible_uids = set(Run.objects.visible_to(caller.person).filter(contestants__in=rows).values_list("uid", flat=True))
    return [
        ContestantOut.from_row(row, run=row.run.uid if row.run and row.run.uid in visible_uids else None)
        for row in rows
    ]


def _entry(caller: Caller, n: int, entry: EntryIn) -> Entry:
    run = Run.objects.visible_to(caller.person).filter(uid=entry.run).first()
    if run is None:
        raise Invalid(Problem(f"contestants.{n}.run", f"must be a run that you may see, not {entry.run}"))
    return Entry(run, entry.step, entry.split)


def _newest_rubrics(caller: Caller, slugs: list[str]) -> list[Rubric]:
    rubric_by_slug = {rubric.criterion.slug: rubric for rubric in newest_rubrics(caller.person)}
    unknown = [slug for slug in slugs if slug not in rubric_by_slug]
    if unknown:
        raise Invalid(Problem("criteria", f"must be of {', '.join(rubric_by_slug)}, not {', '.join(unknown)}"))
    return [rubric_by_slug[slug] for slug in dict.fromkeys(slugs)]


def _verdicts_out(tournament: Tournament, rows: list[Verdict]) -> list[VerdictOut]:
    rater_names, prompt_names = (
        get_rater_names(tournament),
        get_prompt_names(list(tournament.chosen_prompts.select_related("prompt"))),
    )
    names = {rubric.pk: name for rubric, name in rubrics_of(tournament).items()}
    return [
        VerdictOut.from_row(
            verdict, criterion=names[verdict.rubric_id], prompt=prompt_names[verdict.comparison.prompt_id or 0],
            a=str(verdict.comparison.a), b=str(verdict.comparison.b),
            by=rater_names.name(verdict.voter_id, verdict.judge_id), is_person=verdict.judge_id is None,
        )
        for verdict in rows
    ]  # fmt: skip
