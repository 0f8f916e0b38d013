"""One tournament: who meets whom, how far people are, whom to invite; and what its owner does with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Avg, Count, F, Q, Sum
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from judging import tournaments
from judging.access import may_look_after, may_vote
from judging.boards import leading
from judging.choosing import RULE
from judging.forms import PICKS, InvitationForm
from judging.invitations import CannotInvite, invite, take_back
from judging.models import Invitation, Tournament, Verdict, Voter
from judging.views.tournaments import leaders, progress
from judging.views.visible import own_tournament, visible_tournament
from runs.models import Run
from runs.views.parameters import SignedIn


@dataclass(frozen=True)
class Voted:
    """How far a voter is. `right` of `known` gold pairs they judged as was expected.

    `seconds` go by between seeing a pair and a choice, on average.
    """

    voter: Voter
    judged: int
    passed: int
    known: int
    right: int
    seconds: float | None


@require_safe
def tournament(request: SignedIn, pk: int) -> HttpResponse:
    """The whole page."""
    return _page(request, visible_tournament(request, pk), InvitationForm())


@require_safe
def tournament_standing(request: SignedIn, pk: int) -> HttpResponse:
    """How far it is, alone, for a page that is open while people vote."""
    found = visible_tournament(request, pk)
    return TemplateResponse(request, "judging/tournament.html#standing", _standing(request, found))


@require_POST
def tournament_change(request: SignedIn, pk: int) -> HttpResponse:
    """What its buttons do: `do` is pause, go-on, close, delete or restore."""
    found = own_tournament(request, pk, with_bin=True)
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
    """Makes links, and shows them this once."""
    found = own_tournament(request, pk)
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
    """Takes a link back."""
    found = own_tournament(request, pk)
    invitation = get_object_or_404(Invitation, tournament=found, pk=n)
    take_back(invitation)
    messages.success(request, gettext("The link of %(name)s has ended.") % {"name": invitation.name})
    return redirect(found)


def _page(
    request: SignedIn, found: Tournament, form: InvitationForm, links: list[tuple[Invitation, str]] | None = None
) -> HttpResponse:
    contestants = list(found.contestants.select_related("run"))
    seen = Run.objects.visible_to(request.user).filter(pk__in=[c.run_id for c in contestants if c.run_id])
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
        "invitations": list(found.invitations.order_by("name")) if may_look_after(request.user, found) else [],
        "days": tournaments.DAYS_IN_BIN,
        "may_vote": may_vote(request.user),
    }
    return TemplateResponse(request, "judging/tournament.html", context, status=400 if form.errors else 200)


def _standing(request: SignedIn, found: Tournament) -> dict[str, Any]:
    (counted,) = progress([found])
    own = may_look_after(request.user, found)
    return {
        "tournament": found, "pairs": counted.pairs, "judged": counted.judged, "own": own,
        "prompts": found.chosen_prompts.count(), "voted": voted(found) if own else [],
        "voters": found.voters.count(),
        "imported": found.judgment_files.aggregate(made=Sum("made"))["made"] or 0,
    }  # fmt: skip


def voted(found: Tournament) -> list[Voted]:
    """Everybody who was handed a pair, and how carefully they vote. Three questions, however many they are."""
    ended = Count("turns", filter=Q(turns__ended_at__isnull=False, turns__is_passed=False))
    passed = Count("turns", filter=Q(turns__is_passed=True))
    people = found.voters.select_related("user", "invitation").annotate(judged=ended, passed=passed).order_by("number")
    verdicts = Verdict.objects.current().filter(voter__tournament=found)
    pace = dict(verdicts.values_list("voter").annotate(Avg("seconds")).order_by())
    known: dict[int, list[bool]] = {}
    on_gold = verdicts.filter(comparison__gold_pair__isnull=False).exclude(outcome="skip")
    for voter, outcome, slug, expected in on_gold.values_list(
        "voter", "outcome", "rubric__criterion__slug", F("comparison__gold_pair__expected")
    ):
        if slug in expected:
            known.setdefault(voter, []).append(outcome == expected[slug])
    return [
        Voted(one, one.judged, one.passed, len(known.get(one.pk, [])), sum(known.get(one.pk, [])), pace.get(one.pk))
        for one in people
    ]


VERBS: dict[str, tuple[Callable[[Tournament, SignedIn], None], str]] = {
    "pause": (lambda one, request: tournaments.pause(one), _("Paused %(name)s: nobody votes until it goes on.")),
    "go-on": (lambda one, request: tournaments.go_on(one), _("%(name)s takes votes again.")),
    "close": (lambda one, request: tournaments.close(one), _("Closed %(name)s: it takes no more votes.")),
    "delete": (
        lambda one, request: tournaments.delete(one, request.user),
        _("Deleted %(name)s. It can be restored from the bin."),
    ),
    "restore": (lambda one, request: tournaments.restore(one), _("Restored %(name)s.")),
}
