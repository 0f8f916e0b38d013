"""Store voters' actions: choices, skips, retractions, and the reveal of the contestants.

Every choice has a key that the browser chose. A choice that is sent twice, after a lost connection, is stored once, so
a browser may send everything again that was not confirmed. Replaced verdicts stay as history.
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
    "unsure": _("I cannot decide"),
    "expert": _("I lack the knowledge"),
    "language": _("I do not read this language well"),
    "upsetting": _("I do not want to read this"),
    "broken": _("Something is wrong with the pair"),
}
MAX_SECONDS = 24 * 3600.0


class VoteRefused(ValueError):
    """Error: the choice does not count. The message gives the reason, and the valid alternatives."""


class VotingPaused(VoteRefused):
    """Error: the choice may count later, unchanged, so the browser keeps it and sends it again."""


@dataclass(frozen=True)
class Choice:
    """A voter's choice on a turn as it was displayed: left, right, tie or both_bad, by one rubric."""

    turn: int
    rubric: int
    answer: str
    key: str
    seconds: float | None = None


def save_choice(voter: Voter, choice: Choice) -> Verdict:
    """Store a choice, which replaces the voter's earlier one on the pair by this rubric. Raise VoteRefused."""
    if choice.answer not in CHOICES:
        raise VoteRefused(gettext("A choice must be one of %(choices)s.") % {"choices": ", ".join(CHOICES)})
    with transaction.atomic():
        if stored := _find_stored_verdict(voter, choice.key):
            return stored
        turn, tournament = _turn(voter, choice.turn)
        rubric = tournament.rubrics.filter(pk=choice.rubric).first()
        if rubric is None:
            raise VoteRefused(gettext("This tournament does not have that criterion."))
        now = timezone.now()
        _replace(voter, turn.comparison, now, rubric)
        verdict = _verdict(voter, turn, rubric, _outcome(turn, choice.answer), choice.key, now)
        verdict.seconds = _seconds(choice.seconds)
        verdict.save()
        _update_turn(voter, turn, tournament, now)
    return verdict


def skip_turn(voter: Voter, turn_id: int, reason: str, key: str) -> None:
    """Skip a comparison on all criteria, with a reason. Raise VoteRefused, VotingPaused."""
    if reason not in REASONS:
        raise VoteRefused(gettext("A reason must be one of %(reasons)s.") % {"reasons": ", ".join(REASONS)})
    with transaction.atomic():
        if _find_stored_verdict(voter, key):
            return
        turn, tournament = _turn(voter, turn_id)
        now = timezone.now()
        _replace(voter, turn.comparison, now)
        for rubric in tournament.rubrics.all():
            verdict = _verdict(voter, turn, rubric, SKIP, key, now)
            verdict.reason = reason
            verdict.save()
        _update_turn(voter, turn, tournament, now)


def retract_choice(voter: Voter, key: str) -> None:
    """Retract the choice or skip with this key, if it is still current. Raise VoteRefused, VotingPaused."""
    with transaction.atomic():
        _lock(voter)
        verdicts = list(voter.verdicts.current().filter(key=key).select_related("comparison"))
        if not verdicts:
            return
        turn, tournament = _turn(voter, voter.turns.get(comparison=verdicts[0].comparison_id).pk)
        now = timezone.now()
        voter.verdicts.filter(pk__in=[verdict.pk for verdict in verdicts]).update(replaced_at=now)
        _update_turn(voter, turn, tournament, now)


def reveal_turn(voter: Voter, turn_id: int) -> Turn:
    """Record that the voter saw the contestants of this turn, and return the turn.

    Raise VoteRefused before the voter's own vote, or if the tournament does not reveal contestants.
    """
    with transaction.atomic():
        turn = voter.turns.select_for_update().select_related("comparison").filter(pk=turn_id).first()
        if turn is None or turn.ended_at is None:
            raise VoteRefused(gettext("The contestants are revealed after your own vote."))
        if not voter.tournament.reveals:
            raise VoteRefused(gettext("This tournament does not reveal its contestants."))
        if turn.revealed_at is None:
            turn.revealed_at = timezone.now()
            turn.save(update_fields=["revealed_at"])
    return turn


def _find_stored_verdict(voter: Voter, key: str) -> Verdict | None:
    """Return the verdict that is stored with the key, or None, and lock the voter. Raise VoteRefused without a key."""
    if not key:
        raise VoteRefused(gettext("A choice must have its own key."))
    _lock(voter)
    return voter.verdicts.filter(key=key).first()


def _lock(voter: Voter) -> None:
    """Lock the voter, so that choices from several tabs and devices are stored one after another."""
    Voter.objects.select_for_update(no_key=True).get(pk=voter.pk)


def _turn(voter: Voter, turn_id: int) -> tuple[Turn, Tournament]:
    turn = voter.turns.select_for_update(of=("self",)).select_related("comparison").filter(pk=turn_id).first()
    if turn is None:
        raise VoteRefused(gettext("This pair was not given to you."))
    if turn.revealed_at is not None:
        raise VoteRefused(gettext("You have seen the contestants, so your vote can no longer change."))
    tournament = Tournament.objects.get(pk=voter.tournament_id)
    if tournament.deleted_at or tournament.closed_at:
        raise VoteRefused(gettext("This tournament is closed and accepts no more votes."))
    if tournament.paused_at:
        raise VotingPaused(gettext("This tournament is paused: your vote will count when it is resumed."))
    return turn, tournament


def _outcome(turn: Turn, answer: str) -> str:
    if answer not in SIDES:
        return answer
    first = turn.left
    return first.value if answer == "left" else Side.B.value if first == Side.A else Side.A.value


def _verdict(voter: Voter, turn: Turn, rubric: Rubric, outcome: str, key: str, now: datetime) -> Verdict:
    comparison = turn.comparison
    # The name itself is hidden from voters, but the fact that there was one may identify the model.
    is_blind = not any(leak.endswith(f":{NAME}") for leak in comparison.leaks)
    return Verdict(
        comparison=comparison, rubric=rubric, voter=voter, outcome=outcome, first=turn.left, key=key,
        is_blind=is_blind, at=now,
    )  # fmt: skip


def _replace(voter: Voter, comparison: Comparison, now: datetime, rubric: Rubric | None = None) -> None:
    """Mark the voter's verdict by the rubric, or by all rubrics, as replaced; a skip is replaced as a whole."""
    current = voter.verdicts.current().filter(comparison=comparison)
    if rubric is not None and not current.filter(outcome=SKIP).exists():
        current = current.filter(rubric=rubric)
    current.update(replaced_at=now)


def _update_turn(voter: Voter, turn: Turn, tournament: Tournament, now: datetime) -> None:
    """Update whether the turn has ended: it was judged by every rubric, or skipped."""
    outcomes = list(voter.verdicts.current().filter(comparison=turn.comparison).values_list("outcome", flat=True))
    is_done = len(outcomes) == tournament.rubrics.count()
    turn.ended_at = (turn.ended_at or now) if is_done else None
    turn.is_passed = is_done and outcomes[0] == SKIP
    turn.save(update_fields=["ended_at", "is_passed"])


def _seconds(seconds: float | None) -> float | None:
    return None if seconds is None else min(max(seconds, 0.0), MAX_SECONDS)
