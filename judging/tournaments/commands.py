"""Create, pause, close and delete tournaments. The caller checks permissions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext

from judging.models import ChosenPrompt, Comparison, Contestant, Rubric, Side, Tournament
from judging.models import identifying_names as names_of
from judging.voting import Pairing, are_identical, draw_sample, draw_sides, find_leaks, make_pairings
from runs.models import EvaluatedStep, Prompt, Response, Run, list_evaluated_steps

MAX_CONTESTANTS = 20
MAX_COMPARISONS = 50_000
MAX_GOLD_PAIRS = 200
DAYS_IN_TRASH = 30
MAX_RUN_NAME_LENGTH = 150
"""Length limit of a run's name in a contestant's name, which also has step, split and missing responses."""
COPY = """
COPY judging_comparison (tournament_id, place, prompt_id, a_id, b_id, response_a_id, response_b_id, first, leaks,
is_identical)
FROM STDIN
"""
"""COPY is ten times as fast as inserts, which would delay a request too long with 50 000 rows."""


class TournamentRefused(ValueError):
    """Error: the tournament cannot be created. The message gives the reason and the valid choices."""


@dataclass(frozen=True)
class Entry:
    """A new contestant: a run's greedy responses on a split at a step. `given_name`: a name in place of the run's."""

    run: Run
    step: int
    split: str
    given_name: str = ""

    @property
    def name(self) -> str:
        """Return the name on boards: `given_name`, if it is set; else run, step and split, with `5 of 32 responses` if
        the evaluation is partial."""
        if self.given_name:
            return self.given_name
        parts = [self.run.name[:MAX_RUN_NAME_LENGTH], gettext("step %s") % self.step, self.split]
        evaluation = self.evaluation
        return " · ".join([*parts, evaluation.words] if evaluation and evaluation.is_partial else parts)

    @property
    def evaluation(self) -> EvaluatedStep | None:
        """Return how many of the step's responses are stored, or None if there is none. Needs one query."""
        steps = list_evaluated_steps([self.run], self.split).get(self.run.pk, ())
        return next((evaluated for evaluated in steps if evaluated.step == self.step), None)


@dataclass
class _Responses:
    """Responses of the entries: for each entry, in order, prompt id -> response."""

    by_entry: list[dict[int, Response]] = field(default_factory=list)

    @property
    def shared_prompts(self) -> list[int]:
        """Return the ids of the prompts that all entries have responses to."""
        return sorted(set.intersection(*(set(answers) for answers in self.by_entry)))


@transaction.atomic
def create_tournament(
    tournament: Tournament, entries: Sequence[Entry], rubrics: Sequence[Rubric], prompts: int
) -> Tournament:
    """Save a new tournament, of which only the owner and the settings are set, with its contestants and all its
    comparisons on a sample of `prompts` prompts. Raise TournamentRefused if it is invalid."""
    entries = list(dict.fromkeys(entries))
    _check_size(len(entries), len(rubrics), prompts)
    responses = _Responses([_load_responses(entry) for entry in entries])
    if not responses.shared_prompts:
        raise TournamentRefused(gettext("No prompt has responses of all contestants: choose others, or fewer."))
    sample = draw_sample(responses.shared_prompts, prompts, tournament.seed)
    tournament.save(force_insert=True)
    tournament.rubrics.set(rubrics)
    contestants = _contestants(tournament, entries)
    categories = dict(Prompt.objects.filter(pk__in=sample).values_list("pk", "categories"))
    chosen_prompts = ChosenPrompt.objects.bulk_create(
        ChosenPrompt(tournament=tournament, prompt_id=prompt, place=k, categories=categories[prompt])
        for k, prompt in enumerate(sample)
    )
    schedule = make_pairings(range(len(contestants)), range(len(chosen_prompts)), tournament.seed)
    _create_comparisons(tournament, contestants, chosen_prompts, schedule, responses)
    _add_gold_comparisons(tournament, len(schedule))
    return tournament


def pause(tournament: Tournament) -> None:
    """Stop voting until `resume` is called. Do nothing if the tournament is already paused."""
    Tournament.objects.filter(pk=tournament.pk, paused_at=None).update(paused_at=timezone.now())


def resume(tournament: Tournament) -> None:
    """End a pause, or open a closed tournament again."""
    Tournament.objects.filter(pk=tournament.pk).update(paused_at=None, closed_at=None)


def close(tournament: Tournament) -> None:
    """Stop accepting verdicts. Do nothing if the tournament is already closed."""
    Tournament.objects.filter(pk=tournament.pk, closed_at=None).update(closed_at=timezone.now(), paused_at=None)


def move_to_trash(tournament: Tournament, user: User) -> None:
    """Move the tournament to the trash, from which it can be restored for 30 days."""
    Tournament.objects.filter(pk=tournament.pk, deleted_at=None).update(deleted_at=timezone.now(), deleted_by=user)


def restore(tournament: Tournament) -> None:
    """Restore the tournament from the trash, unchanged."""
    Tournament.objects.filter(pk=tournament.pk).update(deleted_at=None, deleted_by=None)


def purge_trash() -> None:
    """Delete tournaments permanently, with their verdicts, after DAYS_IN_TRASH days in the trash."""
    Tournament.objects.filter(deleted_at__lt=timezone.now() - timedelta(days=DAYS_IN_TRASH)).delete()


def _check_size(entries: int, rubrics: int, prompts: int) -> None:
    if not 2 <= entries <= MAX_CONTESTANTS:
        message = gettext("A tournament must have 2 to %(most)s contestants, not %(n)s.")
        raise TournamentRefused(message % {"most": MAX_CONTESTANTS, "n": entries})
    if not rubrics:
        raise TournamentRefused(gettext("Choose at least one criterion."))
    if prompts < 1:
        raise TournamentRefused(gettext("Choose at least one prompt."))
    if (count := entries * (entries - 1) // 2 * prompts) > MAX_COMPARISONS:
        message = gettext("A tournament may have at most %(most)s pairs, not %(count)s: choose fewer prompts.")
        raise TournamentRefused(message % {"count": count, "most": MAX_COMPARISONS})


def _load_responses(entry: Entry) -> dict[int, Response]:
    """Return prompt id -> the run's greedy response, of the current evaluation.

    Raise TournamentRefused if there are none.
    """
    rows = Response.objects.filter(run=entry.run, step=entry.step, split=entry.split, sample=0, is_superseded=False)
    responses = {row.prompt_id: row for row in rows.only("prompt_id", "text")}
    if not responses:
        message = gettext("%(name)s has no responses at step %(step)s on the split %(split)s.")
        raise TournamentRefused(message % {"name": entry.run.name, "step": entry.step, "split": entry.split})
    return responses


def _contestants(tournament: Tournament, entries: Sequence[Entry]) -> list[Contestant]:
    names = [entry.name for entry in entries]
    # Two runs may have the same name, but each contestant on a board needs its own.
    unique_names = [
        f"{name} · {e.run.uid}" if names.count(name) > 1 else name for name, e in zip(names, entries, strict=True)
    ]
    return Contestant.objects.bulk_create(
        Contestant(tournament=tournament, name=name, place=k, run=entry.run, step=entry.step, split=entry.split)
        for k, (name, entry) in enumerate(zip(unique_names, entries, strict=True))
    )


def _create_comparisons(
    tournament: Tournament,
    contestants: Sequence[Contestant],
    chosen_prompts: Sequence[ChosenPrompt],
    schedule: Sequence[Pairing],
    responses: _Responses,
) -> None:
    names = names_of(contestants)
    find_text_leaks = cache(lambda text: find_leaks(text, names))
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for position, pairing in enumerate(schedule):
            prompt = chosen_prompts[pairing.prompt]
            a, b = (responses.by_entry[k][prompt.prompt_id] for k in (pairing.a, pairing.b))
            leaks = [
                f"{side}:{leak}"
                for side, response in zip(Side, (a, b), strict=True)
                for leak in find_text_leaks(response.text)
            ]
            first = Side.A if pairing.a_is_left else Side.B
            pair = (contestants[pairing.a].pk, contestants[pairing.b].pk, a.pk, b.pk)
            is_identical = are_identical(a.text, b.text)
            copy.write_row((tournament.pk, position, prompt.pk, *pair, first.value, leaks, is_identical))


def _add_gold_comparisons(tournament: Tournament, first_position: int) -> None:
    if tournament.gold_set is None:
        return
    slugs = list(tournament.rubrics.values_list("criterion__slug", flat=True))
    matching = tournament.gold_set.pairs.filter(expected__has_any_keys=slugs).values_list("pk", flat=True)
    pairs = draw_sample(list(matching), MAX_GOLD_PAIRS, tournament.seed)
    a_is_left = draw_sides(len(pairs), f"{tournament.seed} sides gold")
    Comparison.objects.bulk_create(
        Comparison(tournament=tournament, place=position, gold_pair_id=pair, first=Side.A if is_left else Side.B)
        for position, (pair, is_left) in enumerate(zip(pairs, a_is_left, strict=True), first_position)
    )
