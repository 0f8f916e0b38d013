"""Prompts and pairs of a file -> the tournament's comparisons, made in bulk where they are new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import connection
from django.db.models import Max

from judging.models import ChosenPrompt, Contestant, Side, Tournament
from judging.tournaments import COPY, called
from runs.ingest.prompts import NAME_SHOWN, Question
from runs.ingest.storable import storable
from runs.models import Prompt

BATCH = 2000
Met = tuple[str, Contestant, Contestant, Side]
"""Prompt as the file names it, two contestants in the order of their places, who stood first."""


class Pairs:
    """Who met whom on which prompt, of one tournament."""

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        rows = list(tournament.chosen_prompts.select_related("prompt").order_by("place"))
        names = called(rows)
        self.prompts = {names[one.pk]: one.pk for one in rows}
        found = tournament.comparisons.filter(gold_pair=None)
        self.of = {(p, a, b): pk for pk, p, a, b in found.values_list("pk", "prompt_id", "a_id", "b_id")}
        self._next_place = (tournament.comparisons.aggregate(n=Max("place"))["n"] or 0) + 1
        self._next_prompt = len(rows)

    def comparison(self, prompt: str, a: Contestant, b: Contestant) -> int | None:
        """The id of theirs; None where they never met on it."""
        return self.of.get((self.prompts.get(prompt, 0), a.pk, b.pk))

    def keep(self, met: Iterable[tuple[Met, Sequence[str]]]) -> None:
        """Makes what is new of (who met, categories of the prompt)."""
        found = dict[Met, Sequence[str]](met)
        self._keep_prompts({one[0]: categories for one, categories in reversed(found.items())})
        new: dict[tuple[int, int, int], Side] = {}
        for prompt, a, b, first in found:
            key = (self.prompts[prompt], a.pk, b.pk)
            if key not in self.of:
                new.setdefault(key, first)
        with connection.cursor() as cursor, cursor.copy(COPY) as copy:
            for place, (met_on, first) in enumerate(new.items(), self._next_place):
                copy.write_row((self.tournament.pk, place, *met_on, None, None, first.value, [], False))
        made = self.tournament.comparisons.filter(place__gte=self._next_place).order_by("place")
        self.of |= dict(zip(new, made.values_list("pk", flat=True), strict=True))
        self._next_place += len(new)

    def _keep_prompts(self, categories: dict[str, Sequence[str]]) -> None:
        """categories: prompt -> its categories, the newest first."""
        new = [name for name in reversed(categories) if name not in self.prompts]
        digests = {name: Question(storable(name)[:NAME_SHOWN], _text(name), "").digest for name in new}
        known = _stored({digests[name]: name for name in new})
        chosen = dict(self.tournament.chosen_prompts.values_list("prompt_id", "pk")) if new else {}
        # A name too long to be shown is called otherwise in files that are written.
        self.prompts |= {name: chosen[known[digests[name]]] for name in new if known[digests[name]] in chosen}
        rows = {
            known[digests[name]]: ChosenPrompt(
                tournament=self.tournament,
                prompt_id=known[digests[name]],
                place=place,
                categories=list(categories[name]),
            )
            for place, name in enumerate((n for n in new if n not in self.prompts), self._next_prompt)
        }
        self._next_prompt += len(new)
        made = ChosenPrompt.objects.bulk_create(rows.values(), batch_size=BATCH)
        pks = {one.prompt_id: one.pk for one in made}
        self.prompts |= {name: pks[known[digests[name]]] for name in new if name not in self.prompts}


def _text(name: str) -> str:
    """A prompt that is named by its whole text is known by it; one that is named by a number has none here."""
    return storable(name) if len(name) > NAME_SHOWN else ""


def _stored(names: dict[str, str]) -> dict[str, int]:
    """digest -> primary key, made where it is new."""
    rows = (Prompt(digest=d, name=storable(n)[:NAME_SHOWN], text=_text(n)) for d, n in sorted(names.items()))
    Prompt.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    return dict(Prompt.objects.filter(digest__in=list(names)).values_list("digest", "pk"))
