"""What people say, one by one: choices, skips, take-backs, and that they saw whose answers they were.

Every choice carries a key of the browser's own. Sent twice, after a lost connection, it is kept once; so a
browser may send again whatever it was not told of. What is replaced stays as history.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.models import SKIP, Comparison, Rubric, Side, Tournament, Turn, Verdict, Voter
from judging.voting.blinding import NAME

SIDES = ("left", "right")
CHOICES = (*SIDES, "tie", "both_bad")
REASONS = {
    "unsure": _("I cannot tell"),
    "expert": _("It needs knowledge that I lack"),
    "language": _("I do not read this language well"),
    "upsetting": _("I do not want to read this"),
    "broken": _("Something is wrong with the pair"),
}
SECONDS_AT_MOST = 24 * 3600.0


class CannotVote(ValueError):
    """A choice that does not count. The message says why, and what would."""


class NotNow(CannotVote):
    """A choice that may count later, as it is: whoever sent it keeps it."""


@dataclass(frozen=True)
class Choice:
    """What a voter said of a turn, as it stood before them: left, right, tie or both_bad, by one rubric."""

    turn: int
    rubric: int
    said: str
    key: str
    seconds: float | None = None


def choose(voter: Voter, choice: Choice) -> Verdict:
    """Keeps a choice in place of the voter's earlier one on the same. Raises CannotVote, NotNow."""
    if choice.said not in CHOICES:
        raise CannotVote(gettext("A choice is one of %(choices)s.") % {"choices": ", ".join(CHOICES)})
    with transaction.atomic():
        if kept := _kept(voter, choice.key):
            return kept
        turn, tournament = _turn(voter, choice.turn)
        rubric = tournament.rubrics.filter(pk=choice.rubric).first()
        if rubric is None:
            raise CannotVote(gettext("This tournament is not judged by that criterion."))
        now = timezone.now()
        _replace(voter, turn.comparison, now, rubric)
        verdict = _verdict(voter, turn, rubric, _outcome(turn, choice.said), choice.key, now)
        verdict.seconds = _seconds(choice.seconds)
        verdict.save()
        _settle(voter, turn, tournament, now)
    return verdict


def skip(voter: Voter, turn_id: int, reason: str, key: str) -> None:
    """Passes a comparison by, on all criteria, and says why. Raises CannotVote."""
    if reason not in REASONS:
        raise CannotVote(gettext("A reason is one of %(reasons)s.") % {"reasons": ", ".join(REASONS)})
    with transaction.atomic():
        if _kept(voter, key):
            return
        turn, tournament = _turn(voter, turn_id)
        now = timezone.now()
        _replace(voter, turn.comparison, now)
        for rubric in tournament.rubrics.all():
            verdict = _verdict(voter, turn, rubric, SKIP, key, now)
            verdict.reason = reason
            verdict.save()
        _settle(voter, turn, tournament, now)


def take_back(voter: Voter, key: str) -> None:
    """Takes back the choice or skip with this key; one that is gone already stays so. Raises CannotVote."""
    with transaction.atomic():
        _lock(voter)
        said = list(voter.verdicts.current().filter(key=key).select_related("comparison"))
        if not said:
            return
        turn, tournament = _turn(voter, voter.turns.get(comparison=said[0].comparison_id).pk)
        now = timezone.now()
        voter.verdicts.filter(pk__in=[verdict.pk for verdict in said]).update(replaced_at=now)
        _settle(voter, turn, tournament, now)


def reveal(voter: Voter, turn_id: int) -> Turn:
    """Notes that the voter now knows whose answers these are. Raises CannotVote before their own vote."""
    with transaction.atomic():
        turn = voter.turns.select_for_update().select_related("comparison").filter(pk=turn_id).first()
        if turn is None or turn.ended_at is None:
            raise CannotVote(gettext("Whose answers they are is shown after your own vote."))
        if not voter.tournament.reveals:
            raise CannotVote(gettext("In this tournament it is not shown whose answers they are."))
        if turn.revealed_at is None:
            turn.revealed_at = timezone.now()
            turn.save(update_fields=["revealed_at"])
    return turn


def _kept(voter: Voter, key: str) -> Verdict | None:
    """What was kept under the key before. Locks the voter."""
    if not key:
        raise CannotVote(gettext("A choice needs a key of its own."))
    _lock(voter)
    return voter.verdicts.filter(key=key).first()


def _lock(voter: Voter) -> None:
    """Lets a voter's choices come one after another, from however many tabs and devices."""
    Voter.objects.select_for_update(no_key=True).get(pk=voter.pk)


def _turn(voter: Voter, turn_id: int) -> tuple[Turn, Tournament]:
    turn = voter.turns.select_for_update(of=("self",)).select_related("comparison").filter(pk=turn_id).first()
    if turn is None:
        raise CannotVote(gettext("This pair is not one of yours."))
    if turn.revealed_at is not None:
        raise CannotVote(gettext("You have seen whose answers they are: the vote stays as it was."))
    tournament = Tournament.objects.get(pk=voter.tournament_id)
    if tournament.deleted_at or tournament.closed_at:
        raise CannotVote(gettext("This tournament is closed: it takes no more votes."))
    if tournament.paused_at:
        raise NotNow(gettext("This tournament is paused: your vote will count when it goes on."))
    return turn, tournament


def _outcome(turn: Turn, said: str) -> str:
    if said not in SIDES:
        return said
    first = turn.left
    return first.value if said == "left" else Side.B.value if first == Side.A else Side.A.value


def _verdict(voter: Voter, turn: Turn, rubric: Rubric, outcome: str, key: str, now: datetime) -> Verdict:
    comparison = turn.comparison
    # The name itself is hidden from voters, but that there was one may be telling enough.
    is_blind = not any(leak.endswith(f":{NAME}") for leak in comparison.leaks)
    return Verdict(
        comparison=comparison, rubric=rubric, voter=voter, outcome=outcome, first=turn.left, key=key,
        is_blind=is_blind, at=now,
    )  # fmt: skip


def _replace(voter: Voter, comparison: Comparison, now: datetime, rubric: Rubric | None = None) -> None:
    """Ends the voter's verdict by the rubric, or by all; a skip ends as a whole."""
    current = voter.verdicts.current().filter(comparison=comparison)
    if rubric is not None and not current.filter(outcome=SKIP).exists():
        current = current.filter(rubric=rubric)
    current.update(replaced_at=now)


def _settle(voter: Voter, turn: Turn, tournament: Tournament, now: datetime) -> None:
    """Whether the turn has ended: judged by every rubric, or passed by."""
    outcomes = list(voter.verdicts.current().filter(comparison=turn.comparison).values_list("outcome", flat=True))
    is_done = len(outcomes) == tournament.rubrics.count()
    turn.ended_at = (turn.ended_at or now) if is_done else None
    turn.is_passed = is_done and outcomes[0] == SKIP
    turn.save(update_fields=["ended_at", "is_passed"])


def _seconds(said: float | None) -> float | None:
    return None if said is None else min(max(said, 0.0), SECONDS_AT_MOST)
