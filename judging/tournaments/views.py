"""Views of a tournament: its state, its invitations, and its voters' progress and care."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Avg, Count, F, Q, QuerySet, Sum
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from judging.access import may_look_after, may_unblind, may_vote
from judging.boards import leading
from judging.http import manageable_tournament, visible_tournament
from judging.models import Invitation, Tournament, Turn, Verdict, Voter
from judging.tournaments.commands import DAYS_IN_BIN, close, delete, go_on, pause, restore
from judging.tournaments.forms import PICKS, InvitationForm
from judging.tournaments.list import leaders, progress
from judging.voting import RULE, CannotInvite, invite
from judging.voting.invitations import take_back
from runs.http import SignedIn, page_of
from runs.models import Run

PEOPLE_A_PAGE = 50


@dataclass(frozen=True)
class Voted:
    """Progress of a voter. `right` of the `known` gold pairs that they judged have the expected outcome.

    `judged` pairs have a verdict, `passed` pairs were passed by. `seconds` is the mean time between seeing a pair and a
    choice.
    """

    voter: Voter
    judged: int
    passed: int
    known: int
    right: int
    seconds: float | None


def voted(people: Sequence[Voter]) -> list[Voted]:
    """Return the progress of each voter, in their order.

    Takes three queries for any number of them, and of other voters.
    """
    turns = _turns(people)
    verdicts = Verdict.objects.current().filter(voter__in=people)
    pace = dict(verdicts.values_list("voter").annotate(Avg("seconds")).order_by())
    known = _on_gold(verdicts)
    return [
        Voted(one, *turns.get(one.pk, (0, 0)), len(known.get(one.pk, [])), sum(known.get(one.pk, [])), pace.get(one.pk))
        for one in people
    ]


def _turns(people: Sequence[Voter]) -> dict[int, tuple[int, int]]:
    """Return voter's id -> (number of pairs judged, number of pairs passed by)."""
    judged = Count("pk", filter=Q(ended_at__isnull=False, is_passed=False))
    passed = Count("pk", filter=Q(is_passed=True))
    rows = Turn.objects.filter(voter__in=people).order_by().values("voter").annotate(judged=judged, passed=passed)
    return {row["voter"]: (row["judged"], row["passed"]) for row in rows}


def _on_gold(verdicts: QuerySet[Verdict]) -> dict[int, list[bool]]:
    """Return voter's id -> for each gold pair that they judged, whether the outcome was the expected one."""
    found: dict[int, list[bool]] = {}
    said = verdicts.filter(comparison__gold_pair__isnull=False).exclude(outcome="skip")
    for voter, outcome, slug, expected in said.values_list(
        "voter", "outcome", "rubric__criterion__slug", F("comparison__gold_pair__expected")
    ):
        if slug in expected:
            found.setdefault(voter, []).append(outcome == expected[slug])
    return found


@require_safe
def tournament(request: SignedIn, pk: int) -> HttpResponse:
    """Render the whole page."""
    return _page(request, visible_tournament(request, pk), InvitationForm())


@require_safe
def tournament_standing(request: SignedIn, pk: int) -> HttpResponse:
    """Render only the progress, to refresh a page that is open while people vote."""
    found = visible_tournament(request, pk)
    return TemplateResponse(request, "judging/tournaments/tournament.html#standing", _standing(request, found))


@require_POST
def tournament_change(request: SignedIn, pk: int) -> HttpResponse:
    """Carry out a button of the page: `do` is pause, go-on, close, delete or restore."""
    found = manageable_tournament(request, pk, with_bin=True)
    do = request.POST.get("do", "")
    if do not in VERBS:
        raise Http404(f"do must be one of {', '.join(VERBS)}, not {do!r}")
    verb, said = VERBS[do]
    verb(found, request)
    messages.success(request, gettext(said) % {"name": found.name})
    return redirect("tournaments") if do == "delete" else redirect(found)


@never_cache
@require_POST
def tournament_invite(request: SignedIn, pk: int) -> HttpResponse:
    """Create links for voters, and show them this once."""
    found = manageable_tournament(request, pk)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, found, form)
    try:
        made = invite(found, request.user, form.cleaned_data["names"].splitlines(), form.cleaned_data["days"])
    except CannotInvite as error:
        form.add_error("names", str(error))
        return _page(request, found, form)
    links = [(one, request.build_absolute_uri(reverse("vote-link", args=[text]))) for one, text in made]
    return _page(request, found, InvitationForm(), links)


@require_POST
def tournament_uninvite(request: SignedIn, pk: int, n: int) -> HttpResponse:
    """Revoke a voter's link."""
    found = manageable_tournament(request, pk)
    invitation = get_object_or_404(Invitation, tournament=found, pk=n)
    take_back(invitation)
    messages.success(request, gettext("The link of %(name)s has ended.") % {"name": invitation.name})
    return redirect(f"{found.get_absolute_url()}?{request.GET.urlencode()}#invite")


def _page(
    request: SignedIn, found: Tournament, form: InvitationForm, links: list[tuple[Invitation, str]] | None = None
) -> HttpResponse:
    own = may_look_after(request.user, found)
    contestants = list(found.contestants.select_related("run"))
    seen = Run.objects.visible_to(request.user).filter(pk__in=[c.run_id for c in contestants if c.run_id])
    invitations = found.invitations.order_by("name")
    context = _standing(request, found) | {
        "form": form,
        "links": links or [],
        "contestants": contestants,
        # A run in the bin has no page any more.
        "seen": set(seen.values_list("pk", flat=True)),
        "rule": RULE,
        "picks": PICKS[Tournament.Picks(found.picks)],
        "rubrics": list(found.rubrics.select_related("criterion").order_by("pk")),
        "leaders": leaders(found, leading([found.pk])),
        "invitations": page_of(request, invitations, PEOPLE_A_PAGE, "invited") if own else None,
        "days": DAYS_IN_BIN,
        "may_vote": may_vote(request.user),
        "unblinded": may_unblind(request.user, found),
    }
    return TemplateResponse(request, "judging/tournaments/tournament.html", context, status=400 if form.errors else 200)


def _standing(request: SignedIn, found: Tournament) -> dict[str, Any]:
    (counted,) = progress([found])
    own = may_look_after(request.user, found)
    people = found.voters.select_related("user", "invitation").order_by("number")
    page = page_of(request, people, PEOPLE_A_PAGE, "voters")
    return {
        "tournament": found, "pairs": counted.pairs, "judged": counted.judged, "own": own,
        "identical": counted.identical, "all_pairs": counted.pairs + counted.identical,
        "prompts": found.chosen_prompts.count(), "voted": voted(list(page)) if own else [],
        "people": page, "voters": page.paginator.count,
        "imported": found.judgment_files.aggregate(made=Sum("made"))["made"] or 0,
    }  # fmt: skip


VERBS: dict[str, tuple[Callable[[Tournament, SignedIn], None], str]] = {
    "pause": (lambda one, request: pause(one), _("Paused %(name)s: nobody votes until it goes on.")),
    "go-on": (lambda one, request: go_on(one), _("%(name)s takes votes again.")),
    "close": (lambda one, request: close(one), _("Closed %(name)s: it takes no more votes.")),
    "delete": (
        lambda one, request: delete(one, request.user),
        _("Deleted %(name)s. It can be restored from the bin."),
    ),
    "restore": (lambda one, request: restore(one), _("Restored %(name)s.")),
}
