"""The only writer of verdicts: people's choices one by one, skips and take-backs, what model judges said, and files.

Every choice of a person carries a key of the browser's own. Sent twice, after a lost connection, it is kept once; so a
browser may send again whatever it was not told of. What is replaced stays as history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.blinding import NAME
from judging.models import SKIP, Comparison, Judge, Rubric, Side, Tournament, Turn, Verdict, Voter
from judging.votes import Outcome

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
BATCH = 2000
COPY = """
COPY judging_verdict (comparison_id, rubric_id, judge_id, voter_id, sample, outcome, score_a, score_b, length_a,
length_b, first, reason, is_blind, key, at) FROM STDIN
"""
"""Ten times as quick as inserts, of which a file may need a hundred thousand."""


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
        verdict = _verdict(voter, turn, rubric, _outcome(turn.comparison, voter, choice.said), choice.key, now)
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


@dataclass(frozen=True)
class Judged:
    """What a model judge said of a comparison, as it stood before it: A is who stood first.

    scores: of who stood first and who stood second. call: None where nothing had to be asked, as by rules.
    """

    comparison: int
    rubric: int
    first: Side
    outcome: Outcome
    scores: tuple[float, float] | None = None
    call: int | None = None
    sample: int = 0

    @property
    def place(self) -> tuple[int, int, str, int]:
        """One current verdict of a judge is here at most."""
        return self.comparison, self.rubric, self.first.value, self.sample

    @property
    def from_a(self) -> tuple[str, float | None, float | None, int | None]:
        """Outcome, a's score, b's score, call: from a's side, wherever a stood."""
        first, second = self.scores or (None, None)
        if self.first is Side.A:
            return self.outcome.name.lower(), first, second, self.call
        turned = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}.get(self.outcome, self.outcome)
        return turned.name.lower(), second, first, self.call


def of_judge(judge: Judge, said: Sequence[Judged]) -> None:
    """Keeps what a judge said in place of what it said before; the same said twice is kept once."""
    with transaction.atomic():
        places = {one.comparison for one in said}
        list(Comparison.objects.select_for_update(no_key=True).filter(pk__in=places).order_by("pk").values_list("pk"))
        current = {
            (row.comparison_id, row.rubric_id, row.first, row.sample): row
            for row in Verdict.objects.current().filter(judge=judge, comparison_id__in=places)
        }
        fresh = [one for one in said if not _is_kept(current.get(one.place), one)]
        replaced = [current[one.place].pk for one in fresh if one.place in current]
        Verdict.objects.filter(pk__in=replaced).update(replaced_at=timezone.now())
        Verdict.objects.bulk_create([_of_judge(judge, one) for one in fresh], batch_size=BATCH)


def _is_kept(row: Verdict | None, said: Judged) -> bool:
    return row is not None and (row.outcome, row.score_a, row.score_b, row.call_id) == said.from_a


def _of_judge(judge: Judge, said: Judged) -> Verdict:
    outcome, score_a, score_b, call = said.from_a
    return Verdict(
        comparison_id=said.comparison, rubric_id=said.rubric, judge=judge, call_id=call, sample=said.sample,
        outcome=outcome, score_a=score_a, score_b=score_b, first=said.first.value,
    )  # fmt: skip


@dataclass(frozen=True)
class OfFile:
    """A judgment of a file, from a's side: by an imported judge, or by a person of whom only the name is known.

    first: who stood first, "" where that is not known. sample: how many alike came before it in its file.
    """

    comparison: int
    rubric: int
    judge: int | None
    voter: int | None
    first: str
    sample: int
    outcome: Outcome
    scores: tuple[float, float] | None = None
    lengths: tuple[float, float] | None = None

    @property
    def place(self) -> tuple[int, int, int | None, int | None, str, int]:
        """One current verdict is here at most; a person says it once, wherever the answers stood."""
        return self.comparison, self.rubric, self.judge, self.voter, self.first if self.judge else "", self.sample

    @property
    def said(self) -> dict[str, Any]:
        """What stands there."""
        score_a, score_b = self.scores or (None, None)
        length_a, length_b = self.lengths or (None, None)
        return {
            "outcome": self.outcome.name.lower(), "score_a": score_a, "score_b": score_b,
            "length_a": length_a, "length_b": length_b, "first": self.first,
        }  # fmt: skip


def of_files(said: Sequence[OfFile]) -> tuple[int, int]:
    """Keeps judgments of files, in their order, and tells (how many are new, how many took the place of others).

    What is kept already stays as it is. No two of them have one place.
    """
    elsewhere = Q(judge__kind=Judge.Kind.IMPORTED) | Q(voter__imported_name__gt="")
    rows = Verdict.objects.current().filter(elsewhere, comparison__in={one.comparison for one in said})
    kept = {_place_of(row): row for row in rows}
    fresh = [one for one in said if one.place not in kept or one.said.items() - vars(kept[one.place]).items()]
    replaced = [kept[one.place].pk for one in fresh if one.place in kept]
    Verdict.objects.filter(pk__in=replaced).update(replaced_at=timezone.now())
    now = timezone.now()
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for one in fresh:
            who = (one.comparison, one.rubric, one.judge, one.voter, one.sample)
            copy.write_row((*who, *one.said.values(), "", True, "", now))
    return len(fresh) - len(replaced), len(replaced)


def _place_of(row: Verdict) -> tuple[int, int, int | None, int | None, str, int]:
    first = row.first if row.judge_id else ""
    return row.comparison_id, row.rubric_id, row.judge_id, row.voter_id, first, row.sample


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


def _outcome(comparison: Comparison, voter: Voter, said: str) -> str:
    if said not in SIDES:
        return said
    first = comparison.first_for(voter.number)
    return first.value if said == "left" else Side.B.value if first == Side.A else Side.A.value


def _verdict(voter: Voter, turn: Turn, rubric: Rubric, outcome: str, key: str, now: datetime) -> Verdict:
    comparison = turn.comparison
    # The name itself is hidden from voters, but that there was one may be telling enough.
    is_blind = not any(leak.endswith(f":{NAME}") for leak in comparison.leaks)
    first = comparison.first_for(voter.number)
    return Verdict(
        comparison=comparison, rubric=rubric, voter=voter, outcome=outcome, first=first, key=key, is_blind=is_blind,
        at=now,
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
