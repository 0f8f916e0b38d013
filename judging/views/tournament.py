"""One tournament: who meets whom, how far people are, whom to invite; and what its owner does with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Sum
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from judging import tournaments
from judging.access import may_look_after, may_unblind, may_vote
from judging.boards import leading
from judging.choosing import RULE
from judging.forms import PICKS, InvitationForm
from judging.invitations import CannotInvite, invite, take_back
from judging.models import Invitation, Tournament
from judging.views.tournaments import leaders, progress
from judging.views.visible import own_tournament, visible_tournament
from judging.views.voters import voted
from runs.models import Run
from runs.views.parameters import SignedIn, page_of

PEOPLE_A_PAGE = 50


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
        "days": tournaments.DAYS_IN_BIN,
        "may_vote": may_vote(request.user),
        "unblinded": may_unblind(request.user, found),
    }
    return TemplateResponse(request, "judging/tournament.html", context, status=400 if form.errors else 200)


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
    "pause": (lambda one, request: tournaments.pause(one), _("Paused %(name)s: nobody votes until it goes on.")),
    "go-on": (lambda one, request: tournaments.go_on(one), _("%(name)s takes votes again.")),
    "close": (lambda one, request: tournaments.close(one), _("Closed %(name)s: it takes no more votes.")),
    "delete": (
        lambda one, request: tournaments.delete(one, request.user),
        _("Deleted %(name)s. It can be restored from the bin."),
    ),
    "restore": (lambda one, request: tournaments.restore(one), _("Restored %(name)s.")),
}
