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
from judging.voting.blinding import hide_names
from judging.voting.choices import (
    REASONS,
    SIDES,
    Choice,
    VoteRefused,
    VotingPaused,
    retract_choice,
    reveal_turn,
    save_choice,
    skip_turn,
)
from judging.voting.invitations import find_invitation, get_voter, store_in_session
from judging.voting.turns import hand_out_turns
from runs.http import whole_number
from workers.config.shallow_json import loads

MAX_CHOICES = 100
MAX_BODY_BYTES = 100_000
HIDDEN = "▒▒▒"
P = ParamSpec("P")


@dataclass(frozen=True)
class DisplayedPair:
    """A pair as a voter sees it. `questions` holds (rubric, the voter's current choice by it; empty if none)."""

    turn: Turn
    prompt: str
    left: str
    right: str
    questions: list[tuple[Rubric, str]]


def for_voters(
    view: Callable[Concatenate[HttpRequest, Voter, P], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Pass the voter of the tournament with this primary key to the view.

    Redirect anonymous readers of a page to sign in; raise Http404 for everybody else who may not vote.
    """

    @login_not_required
    @never_cache
    def wrapped_view(request: HttpRequest, pk: int, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        voter = get_voter(request.user, request.session, pk)
        if voter is not None:
            return view(request, voter, *args, **kwargs)
        if request.method in ("GET", "HEAD") and not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        raise Http404("There is no tournament with this number that you may vote in.")

    return wrapped_view


@never_cache
@login_not_required
@require_safe
def vote_link(request: HttpRequest, text: str) -> HttpResponse:
    """Open an invitation link: redirect to its tournament's voting page, or reply 404 if the link is not valid."""
    invitation = find_invitation(text)
    if invitation is None:
        return TemplateResponse(request, "judging/voting/link_expired.html", status=404)
    # A key that somebody else has put into this browser would let them vote by the invitation too.
    request.session.cycle_key()
    store_in_session(request.session, invitation)
    return redirect("vote", pk=invitation.tournament_id)


@require_safe
@for_voters
def vote(request: HttpRequest, voter: Voter) -> HttpResponse:
    """Render the voting page with the first pairs."""
    tournament, pairs = voter.tournament, _displayed_pairs(voter, hand_out_turns(voter))
    context = {
        "voter": voter, "tournament": tournament, "pairs": pairs,
        "all_identical": not pairs and tournament.comparisons.are_all_identical(),
        "reasons": [(name, gettext(label)) for name, label in REASONS.items()],
        "sees_tournament": voter.user_id is not None, **_progress_counts(voter),
    }  # fmt: skip
    return TemplateResponse(request, "judging/voting/vote.html", context)


@require_safe
@for_voters
def vote_turns(request: HttpRequest, voter: Voter) -> HttpResponse:
    """Render more pairs as a fragment. The parameter `beside` names the turns that the page already has."""
    open_turns = [pk for pk in map(whole_number, request.GET.getlist("beside")) if pk is not None][-MAX_CHOICES:]
    context = {
        "pairs": _displayed_pairs(voter, hand_out_turns(voter, already_open=open_turns)),
        "tournament": voter.tournament, "voter": voter,
    }  # fmt: skip
    return TemplateResponse(request, "judging/voting/turns.html", context)


@require_POST
@for_voters
def vote_choices(request: HttpRequest, voter: Voter) -> HttpResponse:
    """Store {"choices": […]} one by one, and return which are stored, which are refused, and which to send again."""
    choices = _choices(request)
    if choices is None:
        message = gettext('The body must be {"choices": […]} with at most %(n)s objects, each with a key.') % {
            "n": MAX_CHOICES
        }
        return JsonResponse({"why": message}, status=400)
    stored, refused, later = [], [], []
    for choice in choices:
        try:
            _save_choice(voter, choice)
            stored.append(choice["key"])
        except VotingPaused as error:
            later.append({"key": choice["key"], "why": str(error)})
        except VoteRefused as error:
            refused.append({"key": choice["key"], "why": str(error)})
    return JsonResponse({"kept": stored, "refused": refused, "later": later, **_progress_counts(voter)})


@require_POST
@for_voters
def vote_reveal(request: HttpRequest, voter: Voter, n: int) -> HttpResponse:
    """Return the contestants of the pair as JSON. After that, the voter can no longer change the verdict on it.

    Reply 409 if the voter has not judged the pair yet, or if the tournament does not reveal contestants.
    """
    try:
        turn = reveal_turn(voter, n)
    except VoteRefused as error:
        return JsonResponse({"why": str(error)}, status=409)
    comparison = turn.comparison
    if comparison.a is None or comparison.b is None:
        label = gettext("a response chosen beforehand")
        return JsonResponse({"left": label, "right": label})
    names = {Side.A: comparison.a.name, Side.B: comparison.b.name}
    second = Side.B if turn.left == Side.A else Side.A
    return JsonResponse({"left": names[turn.left], "right": names[second]})


def _progress_counts(voter: Voter) -> dict[str, int]:
    return {"done": voter.turns.filter(ended_at__isnull=False).count(), "left": turns.count_remaining(voter)}


def _choices(request: HttpRequest) -> list[dict[str, Any]] | None:
    """Return the choices of the request body, or None if the body is too long or malformed, or has over 100 choices."""
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        return None
    try:
        content = loads(request.body)
    except ValueError:
        return None
    choices = content.get("choices") if isinstance(content, dict) else None
    if not isinstance(choices, list) or len(choices) > MAX_CHOICES:
        return None
    return choices if all(map(_is_choice, choices)) else None


def _is_choice(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    texts = [choice.get(name, "") for name in ("key", "said", "reason", "undo")]
    numbers = [choice.get(name, 0) for name in ("turn", "rubric")]
    seconds = choice.get("seconds")
    return (
        all(isinstance(text, str) and len(text) <= 40 and "\0" not in text for text in texts)
        and bool(choice.get("key"))
        and all(type(number) is int and 0 <= number < 2**63 for number in numbers)
        and (seconds is None or (isinstance(seconds, int | float) and abs(seconds) < 1e9))
    )


def _save_choice(voter: Voter, choice: Mapping[str, Any]) -> None:
    if "undo" in choice:
        retract_choice(voter, choice["undo"])
    elif "reason" in choice:
        skip_turn(voter, choice.get("turn", 0), choice["reason"], choice["key"])
    else:
        parsed = Choice(
            choice.get("turn", 0), choice.get("rubric", 0), choice.get("said", ""), choice["key"], choice.get("seconds")
        )
        save_choice(voter, parsed)


def _displayed_pairs(voter: Voter, turns_to_show: list[Turn]) -> list[DisplayedPair]:
    """Return the pairs with hidden names, with left, right and the order of criteria as this voter sees them."""
    tournament = voter.tournament
    names = identifying_names(list(tournament.contestants.select_related("run")))
    rubrics = list(tournament.rubrics.select_related("criterion").order_by("pk"))
    # Sides turn round with every voter, so the order of criteria does with every second one.
    rubrics = rubrics if voter.number // 2 % 2 == 0 else rubrics[::-1]
    answers = _current_answers(voter, turns_to_show)
    pairs = []
    for turn in turns_to_show:
        texts = turn.comparison.texts
        if texts is None:
            continue
        prompt, a, b = (hide_names(text, names, HIDDEN) if k else text for k, text in enumerate(texts))
        left, right = (a, b) if turn.left == Side.A else (b, a)
        questions = [(rubric, answers.get((turn.comparison_id, rubric.pk), "")) for rubric in rubrics]
        pairs.append(DisplayedPair(turn, prompt, left, right, questions))
    return pairs


def _current_answers(voter: Voter, turns_to_show: list[Turn]) -> dict[tuple[int, int], str]:
    """Return the voter's current choices by (comparison, rubric), with left and right in place of sides."""
    current = voter.verdicts.current().filter(comparison__in=[turn.comparison_id for turn in turns_to_show])
    return {
        (verdict.comparison_id, verdict.rubric_id): SIDES[verdict.outcome != verdict.first]
        if verdict.outcome in Side.values
        else verdict.outcome
        for verdict in current
    }
