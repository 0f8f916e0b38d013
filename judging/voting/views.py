"""Views of the voting page: show pairs without names, store choices, and reveal the contestants after the vote.

The page is open to users who may see the tournament, and to invited voters, who see nothing else of the site. The
browser stores what it cannot send and sends it later; every choice has its own key, so nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from judging.models import Rubric, Side, Turn, Voter, identifying_names
from judging.voting import turns
from judging.voting.blinding import hidden
from judging.voting.invitations import opened, remember, voter_of
from judging.voting.people import REASONS, SIDES, CannotVote, Choice, NotNow, choose, reveal, skip, take_back
from judging.voting.turns import hand
from workers.config.shallow_json import loads

AT_ONCE = 100
BYTES_AT_MOST = 100_000
HIDDEN = "▒▒▒"
P = ParamSpec("P")


@dataclass(frozen=True)
class Shown:
    """A pair as a voter sees it. `asks` holds (rubric, the voter's current choice by it; empty if none)."""

    turn: Turn
    prompt: str
    left: str
    right: str
    asks: list[tuple[Rubric, str]]


def for_voters(
    view: Callable[Concatenate[HttpRequest, Voter, P], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Pass the voter of the tournament with this primary key to the view.

    Redirect anonymous readers of a page to sign in; raise Http404 for everybody else who may not vote.
    """

    @login_not_required
    @never_cache
    def let_in(request: HttpRequest, pk: int, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        voter = voter_of(request.user, request.session, pk)
        if voter is not None:
            return view(request, voter, *args, **kwargs)
        if request.method in ("GET", "HEAD") and not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        raise Http404("There is no such tournament that you may vote in.")

    return let_in


@never_cache
@login_not_required
@require_safe
def vote_link(request: HttpRequest, text: str) -> HttpResponse:
    """Open an invitation link: redirect to its tournament's voting page, or reply 404 if the link is not valid."""
    invitation = opened(text)
    if invitation is None:
        return TemplateResponse(request, "judging/voting/link_ended.html", status=404)
    # A key that somebody else has put into this browser would let them vote by the invitation too.
    request.session.cycle_key()
    remember(request.session, invitation)
    return redirect("vote", pk=invitation.tournament_id)


@require_safe
@for_voters
def vote(request: HttpRequest, voter: Voter) -> HttpResponse:
    """Render the voting page with the first pairs."""
    tournament, shown = voter.tournament, _shown(voter, hand(voter))
    context = {
        "voter": voter, "tournament": tournament, "shown": shown,
        "all_identical": not shown and tournament.comparisons.are_all_identical(),
        "reasons": [(name, gettext(words)) for name, words in REASONS.items()],
        "sees_it": voter.user_id is not None, **_progress(voter),
    }  # fmt: skip
    return TemplateResponse(request, "judging/voting/vote.html", context)


@require_safe
@for_voters
def vote_turns(request: HttpRequest, voter: Voter) -> HttpResponse:
    """Render more pairs as a fragment. The parameter `beside` names the turns that the page already has."""
    beside = [int(pk) for pk in request.GET.getlist("beside") if pk.isdecimal()][-AT_ONCE:]
    context = {
        "shown": _shown(voter, hand(voter, beside=beside)), "tournament": voter.tournament, "voter": voter,
    }  # fmt: skip
    return TemplateResponse(request, "judging/voting/turns.html", context)


@require_POST
@for_voters
def vote_choices(request: HttpRequest, voter: Voter) -> HttpResponse:
    """Store {"choices": […]} one by one, and return which are stored, which are refused, and which to send again."""
    choices = _choices(request)
    if choices is None:
        said = gettext('Send {"choices": […]}: at most %(n)s objects with a key.') % {"n": AT_ONCE}
        return JsonResponse({"why": said}, status=400)
    kept, refused, later = [], [], []
    for choice in choices:
        try:
            _keep(voter, choice)
            kept.append(choice["key"])
        except NotNow as error:
            later.append({"key": choice["key"], "why": str(error)})
        except CannotVote as error:
            refused.append({"key": choice["key"], "why": str(error)})
    return JsonResponse({"kept": kept, "refused": refused, "later": later, **_progress(voter)})


@require_POST
@for_voters
def vote_reveal(request: HttpRequest, voter: Voter, n: int) -> HttpResponse:
    """Return the contestants of the pair as JSON. After that, the voter can no longer change the verdict on it.

    Reply 409 if the voter has not judged the pair yet, or if the tournament does not reveal contestants.
    """
    try:
        turn = reveal(voter, n)
    except CannotVote as error:
        return JsonResponse({"why": str(error)}, status=409)
    comparison = turn.comparison
    if comparison.a is None or comparison.b is None:
        known = gettext("an answer chosen beforehand")
        return JsonResponse({"left": known, "right": known})
    names = {Side.A: comparison.a.name, Side.B: comparison.b.name}
    second = Side.B if turn.left == Side.A else Side.A
    return JsonResponse({"left": names[turn.left], "right": names[second]})


def _progress(voter: Voter) -> dict[str, int]:
    return {"done": voter.turns.filter(ended_at__isnull=False).count(), "left": turns.left(voter)}


def _choices(request: HttpRequest) -> list[dict[str, Any]] | None:
    """Return the choices of the request body, or None if the body is too long or malformed, or has over 100 choices."""
    if int(request.META.get("CONTENT_LENGTH") or 0) > BYTES_AT_MOST:
        return None
    try:
        content = loads(request.body)
    except ValueError:
        return None
    choices = content.get("choices") if isinstance(content, dict) else None
    if not isinstance(choices, list) or len(choices) > AT_ONCE:
        return None
    return choices if all(map(_is_choice, choices)) else None


def _is_choice(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    words = [choice.get(name, "") for name in ("key", "said", "reason", "undo")]
    numbers = [choice.get(name, 0) for name in ("turn", "rubric")]
    seconds = choice.get("seconds")
    return (
        all(isinstance(word, str) and len(word) <= 40 and "\0" not in word for word in words)
        and bool(choice.get("key"))
        and all(type(number) is int and 0 <= number < 2**63 for number in numbers)
        and (seconds is None or (isinstance(seconds, int | float) and abs(seconds) < 1e9))
    )


def _keep(voter: Voter, choice: Mapping[str, Any]) -> None:
    if "undo" in choice:
        take_back(voter, choice["undo"])
    elif "reason" in choice:
        skip(voter, choice.get("turn", 0), choice["reason"], choice["key"])
    else:
        said = Choice(
            choice.get("turn", 0), choice.get("rubric", 0), choice.get("said", ""), choice["key"], choice.get("seconds")
        )
        choose(voter, said)


def _shown(voter: Voter, handed: list[Turn]) -> list[Shown]:
    """Return the pairs with hidden names, with left, right and the order of criteria as this voter sees them."""
    tournament = voter.tournament
    names = identifying_names(list(tournament.contestants.select_related("run")))
    rubrics = list(tournament.rubrics.select_related("criterion").order_by("pk"))
    # Sides turn round with every voter, so the order of criteria does with every second one.
    rubrics = rubrics if voter.number // 2 % 2 == 0 else rubrics[::-1]
    said = _said(voter, handed)
    out = []
    for turn in handed:
        texts = turn.comparison.texts
        if texts is None:
            continue
        prompt, a, b = (hidden(text, names, HIDDEN) if k else text for k, text in enumerate(texts))
        left, right = (a, b) if turn.left == Side.A else (b, a)
        asks = [(rubric, said.get((turn.comparison_id, rubric.pk), "")) for rubric in rubrics]
        out.append(Shown(turn, prompt, left, right, asks))
    return out


def _said(voter: Voter, handed: list[Turn]) -> dict[tuple[int, int], str]:
    """Return the voter's current choices by (comparison, rubric), with left and right in place of sides."""
    current = voter.verdicts.current().filter(comparison__in=[turn.comparison_id for turn in handed])
    return {
        (verdict.comparison_id, verdict.rubric_id): SIDES[verdict.outcome != verdict.first]
        if verdict.outcome in Side.values
        else verdict.outcome
        for verdict in current
    }
