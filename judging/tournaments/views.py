"""Views of a tournament: its state, its invitations, and its voters' progress and care."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import Avg, Count, F, Min, Q, QuerySet, Sum
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.defaultfilters import floatformat
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from judging.access import may_manage, may_unblind, may_vote
from judging.boards import board_stamps, newest_standings
from judging.http import manageable_tournament, visible_tournament
from judging.models import Invitation, Tournament, Turn, Verdict, Voter
from judging.tournaments.commands import DAYS_IN_TRASH, close, move_to_trash, pause, restore, resume
from judging.tournaments.forms import InvitationForm
from judging.tournaments.list import leader_sentences, tournament_progress
from judging.voting import RULE, InvitationRefused, create_invitations
from judging.voting.invitations import revoke_invitation
from runs.http import SignedIn, page_of
from runs.models import Run
from runs.tables import COUNTS, Column, NumberStyle, Table

VOTERS_PER_PAGE = 50


def voters_table(voters: Sequence[Voter]) -> Table:
    """Return a row for each voter, in their order: pairs with a verdict, skipped pairs, gold pairs with the expected
    outcome, and the mean time between seeing a pair and a choice.

    Takes three queries for any number of them, and of other voters.
    """
    turns = _turns(voters)
    verdicts = Verdict.objects.current().filter(voter__in=voters)
    pace = dict(verdicts.values_list("voter").annotate(Avg("seconds")).order_by())
    gold_results = _on_gold(verdicts)
    columns = (
        Column("voter", gettext("Voter"), str), Column("judged", gettext("Judged"), style=COUNTS),
        Column("passed", gettext("Skipped"), style=COUNTS), Column("gold", gettext("Correct on gold")),
        Column("seconds", gettext("Seconds per choice"), style=NumberStyle(partial(floatformat, arg=1))),
    )  # fmt: skip
    return Table(columns, tuple(
        (str(voter), *turns.get(voter.pk, (0, 0)), _correct(gold_results.get(voter.pk, [])), pace.get(voter.pk))
        for voter in voters
    ))  # fmt: skip


def _correct(on_gold: list[bool]) -> str | None:
    return gettext("%(n)s of %(of)s") % {"n": sum(on_gold), "of": len(on_gold)} if on_gold else None


def _turns(voters: Sequence[Voter]) -> dict[int, tuple[int, int]]:
    """Return voter's id -> (number of pairs judged, number of pairs skipped)."""
    judged = Count("pk", filter=Q(ended_at__isnull=False, is_passed=False))
    passed = Count("pk", filter=Q(is_passed=True))
    rows = Turn.objects.filter(voter__in=voters).order_by().values("voter").annotate(judged=judged, passed=passed)
    return {row["voter"]: (row["judged"], row["passed"]) for row in rows}


def _on_gold(verdicts: QuerySet[Verdict]) -> dict[int, list[bool]]:
    """Return voter's id -> for each gold pair that they judged, whether the outcome was the expected one."""
    results: dict[int, list[bool]] = {}
    gold_verdicts = verdicts.filter(comparison__gold_pair__isnull=False).exclude(outcome="skip")
    for voter, outcome, slug, expected in gold_verdicts.values_list(
        "voter", "outcome", "rubric__criterion__slug", F("comparison__gold_pair__expected")
    ):
        if slug in expected:
            results.setdefault(voter, []).append(outcome == expected[slug])
    return results


@require_safe
def tournament(request: SignedIn, pk: int) -> HttpResponse:
    """Render the whole page."""
    return _page(request, visible_tournament(request, pk), InvitationForm())


@require_safe
def tournament_standing(request: SignedIn, pk: int) -> HttpResponse:
    """Render only the progress, to refresh a page that is open during voting."""
    tournament_row = visible_tournament(request, pk)
    return TemplateResponse(request, "judging/tournaments/progress.html", _status_context(request, tournament_row))


@require_safe
def tournament_leaders(request: SignedIn, pk: int) -> HttpResponse:
    """Render only the leaders, for a page that awaits the first ratings."""
    context = _leaders_context(visible_tournament(request, pk))
    return TemplateResponse(request, "judging/tournaments/leaders.html", context)


@require_POST
def tournament_change(request: SignedIn, pk: int) -> HttpResponse:
    """Carry out a button of the page: `do` is pause, go-on, close, delete or restore."""
    tournament_row = manageable_tournament(request, pk, with_trash=True)
    action = request.POST.get("do", "")
    if action not in ACTIONS:
        raise Http404(f"do must be one of {', '.join(ACTIONS)}, not {action!r}")
    run_action, message = ACTIONS[action]
    run_action(tournament_row, request)
    messages.success(request, gettext(message) % {"name": tournament_row.name})
    return redirect("tournaments") if action == "delete" else redirect(tournament_row)


@never_cache
@require_POST
def tournament_invite(request: SignedIn, pk: int) -> HttpResponse:
    """Create links for voters, and show them this once."""
    tournament_row = manageable_tournament(request, pk)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, tournament_row, form)
    try:
        created = create_invitations(
            tournament_row, request.user, form.cleaned_data["names"].splitlines(), form.cleaned_data["days"]
        )
    except InvitationRefused as error:
        form.add_error("names", str(error))
        return _page(request, tournament_row, form)
    links = [
        (invitation, request.build_absolute_uri(reverse("vote-link", args=[text]))) for invitation, text in created
    ]
    return _page(request, tournament_row, InvitationForm(), links)


@require_POST
def tournament_uninvite(request: SignedIn, pk: int, n: int) -> HttpResponse:
    """Revoke a voter's link."""
    tournament_row = manageable_tournament(request, pk)
    invitation = get_object_or_404(Invitation, tournament=tournament_row, pk=n)
    revoke_invitation(invitation)
    messages.success(request, gettext("Revoked the link of %(name)s.") % {"name": invitation.name})
    return redirect(f"{tournament_row.get_absolute_url()}?{request.GET.urlencode()}#invite")


def _page(
    request: SignedIn,
    tournament_row: Tournament,
    form: InvitationForm,
    links: list[tuple[Invitation, str]] | None = None,
) -> HttpResponse:
    is_manager = may_manage(request.user, tournament_row)
    contestants = list(tournament_row.contestants.select_related("run"))
    visible_runs = Run.objects.visible_to(request.user).filter(pk__in=[c.run_id for c in contestants if c.run_id])
    invitations = tournament_row.invitations.order_by("name")
    context = _status_context(request, tournament_row) | _leaders_context(tournament_row)
    context |= {
        "form": form,
        "links": links or [],
        "contestants": contestants,
        # A run in the trash has no page.
        "visible_runs": set(visible_runs.values_list("pk", flat=True)),
        "rule": RULE,
        "rubrics": list(tournament_row.rubrics.select_related("criterion").order_by("pk")),
        "invitations": page_of(request, invitations, VOTERS_PER_PAGE, "invited") if is_manager else None,
        "days": DAYS_IN_TRASH,
        "may_vote": may_vote(request.user),
        "unblinded": may_unblind(request.user, tournament_row),
    }
    return TemplateResponse(request, "judging/tournaments/tournament.html", context, status=400 if form.errors else 200)


def _leaders_context(tournament_row: Tournament) -> dict[str, Any]:
    """Return the context of the leaders. `is_computing`: whether a criterion with verdicts has no board yet;
    `computing_since`: when the first of these verdicts arrived."""
    standings = newest_standings([tournament_row.pk])
    rubrics = {rubric for key, rubric in board_stamps([tournament_row.pk]) if (key, rubric) not in standings}
    verdicts = Verdict.objects.filter(comparison__tournament=tournament_row, rubric__in=rubrics)
    return {
        "tournament": tournament_row, "leaders": leader_sentences(tournament_row, standings),
        "is_computing": bool(rubrics),
        "computing_since": verdicts.aggregate(first=Min("at"))["first"] if rubrics else None,
    }  # fmt: skip


def _status_context(request: SignedIn, tournament_row: Tournament) -> dict[str, Any]:
    (counted,) = tournament_progress([tournament_row])
    is_manager = may_manage(request.user, tournament_row)
    voters = tournament_row.voters.select_related("user", "invitation").order_by("number")
    page = page_of(request, voters, VOTERS_PER_PAGE, "voters")
    return {
        "tournament": tournament_row, "pairs": counted.pairs, "judged": counted.judged, "may_manage": is_manager,
        "identical": counted.identical, "all_pairs": counted.pairs + counted.identical,
        "prompts": tournament_row.chosen_prompts.count(),
        "voters": voters_table(list(page) if is_manager else []),
        "voter_page": page, "voter_count": page.paginator.count,
        "imported": tournament_row.judgment_files.aggregate(made=Sum("made"))["made"] or 0,
    }  # fmt: skip


ACTIONS: dict[str, tuple[Callable[[Tournament, SignedIn], None], str]] = {
    "pause": (
        lambda tournament, request: pause(tournament),
        _("Paused %(name)s: it accepts no votes until you resume it."),
    ),
    "go-on": (lambda tournament, request: resume(tournament), _("%(name)s accepts votes again.")),
    "close": (lambda tournament, request: close(tournament), _("Closed %(name)s: it accepts no more votes.")),
    "delete": (
        lambda tournament, request: move_to_trash(tournament, request.user),
        _("Moved %(name)s to the trash. It can be restored from there."),
    ),
    "restore": (lambda tournament, request: restore(tournament), _("Restored %(name)s.")),
}
