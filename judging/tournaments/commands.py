"""Makes tournaments, pauses, closes and throws them away. Who may is for the caller to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext

from judging.models import (
    ChosenPrompt,
    Comparison,
    Contestant,
    GoldSet,
    Rubric,
    Side,
    Tournament,
)
from judging.models import identifying_names as names_of
from judging.voting import Pairing, are_identical, drawn, leaks, pairings, sides
from runs.models import EvaluatedStep, Prompt, Response, Run, list_evaluated_steps

CONTESTANTS_AT_MOST = 20
COMPARISONS_AT_MOST = 50_000
GOLD_AT_MOST = 200
DAYS_IN_BIN = 30
NAME_SHOWN = 150
"""Of a run's: with its step, its split and what is missing of its answers it is a contestant's."""
COPY = """
COPY judging_comparison (tournament_id, place, prompt_id, a_id, b_id, response_a_id, response_b_id, first, leaks,
is_identical)
FROM STDIN
"""
"""Ten times as quick as inserts, which for 50 000 rows would keep a request waiting too long."""


class CannotMake(ValueError):
    """A tournament that would make no sense. The message says why, and what would do."""


@dataclass(frozen=True)
class Entry:
    """A contestant to be: a run's greedy answers on a split at a step. `called`: a name in place of the run's."""

    run: Run
    step: int
    split: str
    called: str = ""

    @property
    def name(self) -> str:
        """Return the name that boards show: `called`, if it is set; else run, step and split, with `5 of 32 answers` if
        the evaluation lacks some."""
        if self.called:
            return self.called
        parts = [self.run.name[:NAME_SHOWN], gettext("step %s") % self.step, self.split]
        evaluation = self.evaluation
        return " · ".join([*parts, evaluation.words] if evaluation and evaluation.is_partial else parts)

    @property
    def evaluation(self) -> EvaluatedStep | None:
        """Return how many of the step's answers are stored, or None if there is none. Needs one query."""
        steps = list_evaluated_steps([self.run], self.split).get(self.run.pk, ())
        return next((one for one in steps if one.step == self.step), None)


@dataclass(frozen=True)
class Draft:
    """Describe a tournament to create. `entries` become its contestants, `prompts` says how many prompts are drawn; the
    other fields are those of `Tournament`."""

    name: str
    entries: Sequence[Entry]
    rubrics: Sequence[Rubric]
    prompts: int
    seed: int = 0
    question: str = ""
    is_private: bool = False
    overlap: int = 1
    gold_set: GoldSet | None = None
    gold_every: int = 15
    reveals: bool = True
    warns: bool = False
    picks: str = Tournament.Picks.BALANCED


@dataclass
class _Answers:
    """prompt id -> answer, for each entry in order."""

    of: list[dict[int, Response]] = field(default_factory=list)

    @property
    def shared(self) -> list[int]:
        """The prompts that all have answered."""
        return sorted(set.intersection(*(set(answers) for answers in self.of)))


@transaction.atomic
def make(owner: User, draft: Draft) -> Tournament:
    """The tournament with its contestants and all its comparisons. Raises CannotMake."""
    draft = replace(draft, entries=list(dict.fromkeys(draft.entries)))
    _check(draft)
    answers = _Answers([_answers(entry) for entry in draft.entries])
    if not answers.shared:
        raise CannotMake(gettext("There is no prompt that all contestants have answered: choose others, or fewer."))
    prompts = drawn(answers.shared, draft.prompts, draft.seed)
    tournament = Tournament.objects.create(
        name=draft.name, question=draft.question, owner=owner, is_private=draft.is_private, seed=draft.seed,
        overlap=draft.overlap, gold_set=draft.gold_set, gold_every=draft.gold_every, reveals=draft.reveals,
        warns=draft.warns, picks=draft.picks,
    )  # fmt: skip
    tournament.rubrics.set(draft.rubrics)
    contestants = _contestants(tournament, draft.entries)
    named = dict(Prompt.objects.filter(pk__in=prompts).values_list("pk", "categories"))
    chosen = ChosenPrompt.objects.bulk_create(
        ChosenPrompt(tournament=tournament, prompt_id=prompt, place=k, categories=named[prompt])
        for k, prompt in enumerate(prompts)
    )
    met = pairings(range(len(contestants)), range(len(chosen)), draft.seed)
    _compare(tournament, contestants, chosen, met, answers)
    _mix_in_gold(tournament, len(met))
    return tournament


def pause(tournament: Tournament) -> None:
    """Nobody votes until it goes on. Does nothing where it is paused already."""
    Tournament.objects.filter(pk=tournament.pk, paused_at=None).update(paused_at=timezone.now())


def go_on(tournament: Tournament) -> None:
    """Ends a pause, or opens it again after it was closed."""
    Tournament.objects.filter(pk=tournament.pk).update(paused_at=None, closed_at=None)


def close(tournament: Tournament) -> None:
    """Takes no verdicts any more. Does nothing where it is closed already."""
    Tournament.objects.filter(pk=tournament.pk, closed_at=None).update(closed_at=timezone.now(), paused_at=None)


def delete(tournament: Tournament, person: User) -> None:
    """Puts it into the bin, from where it can be restored for 30 days."""
    Tournament.objects.filter(pk=tournament.pk, deleted_at=None).update(deleted_at=timezone.now(), deleted_by=person)


def restore(tournament: Tournament) -> None:
    """Takes it out of the bin, as it was."""
    Tournament.objects.filter(pk=tournament.pk).update(deleted_at=None, deleted_by=None)


def purge() -> None:
    """Removes for good what has lain in the bin for its time, verdicts and all."""
    Tournament.objects.filter(deleted_at__lt=timezone.now() - timedelta(days=DAYS_IN_BIN)).delete()


def _check(draft: Draft) -> None:
    n = len(draft.entries)
    if not 2 <= n <= CONTESTANTS_AT_MOST:
        said = gettext("A tournament has 2 to %(most)s contestants, not %(n)s.")
        raise CannotMake(said % {"most": CONTESTANTS_AT_MOST, "n": n})
    if not draft.rubrics:
        raise CannotMake(gettext("Choose at least one criterion."))
    if draft.prompts < 1:
        raise CannotMake(gettext("Choose at least one prompt."))
    if (count := n * (n - 1) // 2 * draft.prompts) > COMPARISONS_AT_MOST:
        said = gettext("%(count)s pairs are more than the %(most)s that a tournament takes: choose fewer prompts.")
        raise CannotMake(said % {"count": count, "most": COMPARISONS_AT_MOST})


def _answers(entry: Entry) -> dict[int, Response]:
    """prompt id -> the run's greedy answer to it, of the evaluation that holds."""
    rows = Response.objects.filter(run=entry.run, step=entry.step, split=entry.split, sample=0, is_superseded=False)
    found = {row.prompt_id: row for row in rows.only("prompt_id", "text")}
    if not found:
        said = gettext("%(name)s has no answers at step %(step)s on the split %(split)s.")
        raise CannotMake(said % {"name": entry.run.name, "step": entry.step, "split": entry.split})
    return found


def _contestants(tournament: Tournament, entries: Sequence[Entry]) -> list[Contestant]:
    names = [entry.name for entry in entries]
    # Two runs may bear one name; on a board each needs its own.
    shown = [f"{name} · {e.run.uid}" if names.count(name) > 1 else name for name, e in zip(names, entries, strict=True)]
    return Contestant.objects.bulk_create(
        Contestant(tournament=tournament, name=name, place=k, run=entry.run, step=entry.step, split=entry.split)
        for k, (name, entry) in enumerate(zip(shown, entries, strict=True))
    )


def _compare(
    tournament: Tournament,
    contestants: Sequence[Contestant],
    chosen: Sequence[ChosenPrompt],
    met: Sequence[Pairing],
    answers: _Answers,
) -> None:
    names = names_of(contestants)
    told = cache(lambda text: leaks(text, names))
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for place, one in enumerate(met):
            prompt = chosen[one.prompt]
            a, b = (answers.of[k][prompt.prompt_id] for k in (one.a, one.b))
            leaked = [f"{side}:{leak}" for side, answer in zip(Side, (a, b), strict=True) for leak in told(answer.text)]
            first = Side.A if one.a_is_left else Side.B
            pair = (contestants[one.a].pk, contestants[one.b].pk, a.pk, b.pk)
            is_identical = are_identical(a.text, b.text)
            copy.write_row((tournament.pk, place, prompt.pk, *pair, first.value, leaked, is_identical))


def _mix_in_gold(tournament: Tournament, first_place: int) -> None:
    if tournament.gold_set is None:
        return
    slugs = list(tournament.rubrics.values_list("criterion__slug", flat=True))
    fit = tournament.gold_set.pairs.filter(expected__has_any_keys=slugs).values_list("pk", flat=True)
    pairs = drawn(list(fit), GOLD_AT_MOST, tournament.seed)
    a_is_left = sides(len(pairs), f"{tournament.seed} sides gold")
    Comparison.objects.bulk_create(
        Comparison(tournament=tournament, place=place, gold_pair_id=pair, first=Side.A if is_left else Side.B)
        for place, (pair, is_left) in enumerate(zip(pairs, a_is_left, strict=True), first_place)
    )
