"""Store blocks of judgments as verdicts of one tournament, with the contestants, prompts and judges that they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Max

from judging.exchange.participants import NOT_NAMED, Contestants, Criteria, Judges
from judging.models import ChosenPrompt, Contestant, Side, Tournament
from judging.stats.votes import TIE_THRESHOLD, Duplicate, Judgment, Outcome, Problem, is_alone
from judging.tournaments import COPY, called
from judging.voting import OfFile, of_files
from runs.ingest.prompts import NAME_SHOWN, Question
from runs.ingest.storable import storable
from runs.models import Prompt

BATCH = 2000
Met = tuple[str, Contestant, Contestant, Side]
"""The prompt's name in the file, two contestants in the order of their places, and the side in first position."""
ALIKE_AT_MOST = 30_000


class Pairs:
    """Comparisons of one tournament: which contestants meet on which prompt."""

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
        """Return the id of the comparison of two contestants on a prompt, or None if there is none."""
        return self.of.get((self.prompts.get(prompt, 0), a.pk, b.pk))

    def keep(self, met: Iterable[tuple[Met, Sequence[str]]]) -> None:
        """Create the new comparisons and prompts among `met`: (comparison, categories of its prompt)."""
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
        """Create the new prompts. categories: prompt -> its categories, the newest prompt first."""
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
    """Return a name longer than NAME_SHOWN as the prompt's whole text; return an empty text for a shorter name."""
    return storable(name) if len(name) > NAME_SHOWN else ""


def _stored(names: dict[str, str]) -> dict[str, int]:
    """Map each digest to the primary key of its prompt, and create missing prompts."""
    rows = (Prompt(digest=d, name=storable(n)[:NAME_SHOWN], text=_text(n)) for d, n in sorted(names.items()))
    Prompt.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    return dict(Prompt.objects.filter(digest__in=list(names)).values_list("digest", "pk"))


TURNED = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}


@dataclass
class StoredJudgments:
    """Result of storing a block: numbers of verdicts, problems and duplicates."""

    read: int = 0
    made: int = 0
    changed: int = 0
    alone: int = 0
    problems: list[Problem] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)


Row = Judgment | Problem | Duplicate


class Keeper:
    """Store of one file's judgments, block by block. `is_open`: the file may add contestants, prompts and criteria."""

    def __init__(self, tournament: Tournament, *, is_open: bool) -> None:
        self.tournament, self.is_open = tournament, is_open
        self.contestants = Contestants(tournament, is_open=is_open)
        self.criteria, self.judges, self.pairs = Criteria(tournament), Judges(tournament), Pairs(tournament)
        self._said: Counter[tuple[object, ...]] = Counter()

    def keep(self, block: Iterable[tuple[str, Row]]) -> StoredJudgments:
        """Store the judgments of a block of (position in the file, row), and return the result."""
        kept = StoredJudgments()
        fit = list(self._fit(block, kept))
        self.contestants.keep()
        self.judges.keep((one.annotator, one.is_person) for _, one in fit)
        if self.is_open:
            self.pairs.keep((self._met(one), one.categories) for _, one in fit)
        said = list(self._placed(fit, kept))
        kept.made, kept.changed = of_files(said)
        kept.read = len(said)
        return kept

    def _fit(self, block: Iterable[tuple[str, Row]], kept: StoredJudgments) -> Iterator[tuple[str, Judgment]]:
        """Yield the judgments with acceptable contestants, criteria and judges.

        Record the remaining rows, problems and duplicates, in `kept`.
        """
        for place, one in block:
            if isinstance(one, Problem):
                kept.problems.append(one)
            elif isinstance(one, Duplicate):
                kept.duplicates.append(one)
            elif why := self._why_not(one):
                kept.problems.append(Problem(place, why))
            else:
                yield place, one

    def _why_not(self, one: Judgment) -> str:
        if not self.is_open and (one.criterion or NOT_NAMED) not in self.criteria.of:
            return f"is by {one.criterion!r}; the criteria are {', '.join(map(repr, self.criteria.of))}"
        why = self.criteria.why_not(one.criterion) or self.judges.why_not(one.annotator)
        why = why or self.contestants.why_not((one.model_a, one.model_b, *one.also))
        if not why:
            self.criteria.rubric(one.criterion)
        return why

    def _placed(self, fit: list[tuple[str, Judgment]], kept: StoredJudgments) -> Iterator[OfFile]:
        for place, one in fit:
            said = self._of_file(one)
            if said is None:
                kept.problems.append(
                    Problem(place, f"is on prompt {one.prompt[:80]!r}, on which these two did not meet")
                )
            elif said.sample > (ALIKE_AT_MOST if said.judge else 0):
                what = f"is one more judgment of {one.annotator!r} on the same pair than can be told apart"
                kept.problems.append(Problem(place, what))
            else:
                kept.alone += is_alone(one.prompt)
                yield said

    def _met(self, one: Judgment) -> Met:
        a, b = self._in_places(one)
        return one.prompt, a, b, Side.A if a.name == one.model_a else Side.B

    def _in_places(self, one: Judgment) -> tuple[Contestant, Contestant]:
        a, b = self.contestants.of[one.model_a], self.contestants.of[one.model_b]
        return (a, b) if a.place < b.place else (b, a)

    def _of_file(self, one: Judgment) -> OfFile | None:
        a, b = self._in_places(one)
        comparison = self.pairs.comparison(one.prompt, a, b)
        if comparison is None:
            return None
        is_turned = a.name != one.model_a
        outcome = one.outcome(TIE_THRESHOLD)
        first = ("b" if is_turned else "a") if one.order_known else ""
        name = one.annotator or NOT_NAMED
        judge, voter = (None, self.judges.people[name]) if one.is_person else (self.judges.judges[name], None)
        rubric = self.criteria.rubric(one.criterion).pk
        key = (comparison, rubric, judge, voter, first if judge else "")
        sample = self._said[key]
        self._said[key] += 1
        return OfFile(
            comparison, rubric, judge, voter, first, sample,
            TURNED.get(outcome, outcome) if is_turned else outcome,
            _turned(one.scores, is_turned), _turned(one.lengths, is_turned),
        )  # fmt: skip


def _turned(pair: tuple[float, float] | None, is_turned: bool) -> tuple[float, float] | None:
    return (pair[1], pair[0]) if pair and is_turned else pair
