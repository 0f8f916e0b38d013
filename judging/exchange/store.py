"""Store blocks of judgments as verdicts of one tournament, with the contestants, prompts and judges that they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Max

from judging.exchange.participants import NOT_NAMED, Contestants, Criteria, Judges
from judging.models import ChosenPrompt, Contestant, Side, Tournament
from judging.stats.votes import TIE_THRESHOLD, Duplicate, Judgment, Outcome, Problem, is_unnamed_prompt
from judging.tournaments import COPY, get_prompt_names
from judging.voting import ImportedVerdict, save_imported_verdicts
from runs.ingest.prompts import MAX_NAME_LENGTH, Question
from runs.ingest.storable import storable
from runs.models import Prompt

BATCH_SIZE = 2000
PairKey = tuple[str, Contestant, Contestant, Side]
"""Prompt's name in the file, two contestants in the order of their positions, and the side in first position."""
MAX_REPEATED_JUDGMENTS = 30_000


class ComparisonIndex:
    """Comparisons of one tournament: which contestants meet on which prompt."""

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        rows = list(tournament.chosen_prompts.select_related("prompt").order_by("place"))
        names = get_prompt_names(rows)
        self.prompts = {names[row.pk]: row.pk for row in rows}
        comparisons = tournament.comparisons.filter(gold_pair=None)
        self.ids = {(p, a, b): pk for pk, p, a, b in comparisons.values_list("pk", "prompt_id", "a_id", "b_id")}
        self._next_position = (tournament.comparisons.aggregate(n=Max("place"))["n"] or 0) + 1
        self._next_prompt = len(rows)

    def find_id(self, prompt: str, a: Contestant, b: Contestant) -> int | None:
        """Return the id of the comparison of two contestants on a prompt, or None if there is none."""
        return self.ids.get((self.prompts.get(prompt, 0), a.pk, b.pk))

    def save(self, judged_pairs: Iterable[tuple[PairKey, Sequence[str]]]) -> None:
        """Create the new comparisons and prompts among `judged_pairs`: (pair, categories of its prompt)."""
        categories_by_pair = dict[PairKey, Sequence[str]](judged_pairs)
        self._save_prompts({pair[0]: categories for pair, categories in reversed(categories_by_pair.items())})
        new: dict[tuple[int, int, int], Side] = {}
        for prompt, a, b, first in categories_by_pair:
            key = (self.prompts[prompt], a.pk, b.pk)
            if key not in self.ids:
                new.setdefault(key, first)
        with connection.cursor() as cursor, cursor.copy(COPY) as copy:
            for position, (prompt_and_pair, first) in enumerate(new.items(), self._next_position):
                copy.write_row((self.tournament.pk, position, *prompt_and_pair, None, None, first.value, [], False))
        created = self.tournament.comparisons.filter(place__gte=self._next_position).order_by("place")
        self.ids |= dict(zip(new, created.values_list("pk", flat=True), strict=True))
        self._next_position += len(new)

    def _save_prompts(self, categories: dict[str, Sequence[str]]) -> None:
        """Create the new prompts. categories: prompt -> its categories, the newest prompt first."""
        new = [name for name in reversed(categories) if name not in self.prompts]
        digests = {name: Question(storable(name)[:MAX_NAME_LENGTH], _text(name), "").digest for name in new}
        prompt_ids = _get_or_create_prompts({digests[name]: name for name in new})
        chosen_ids = dict(self.tournament.chosen_prompts.values_list("prompt_id", "pk")) if new else {}
        # Exported files abbreviate a name that is too long to be shown.
        self.prompts |= {
            name: chosen_ids[prompt_ids[digests[name]]] for name in new if prompt_ids[digests[name]] in chosen_ids
        }
        rows = {
            prompt_ids[digests[name]]: ChosenPrompt(
                tournament=self.tournament,
                prompt_id=prompt_ids[digests[name]],
                place=position,
                categories=list(categories[name]),
            )
            for position, name in enumerate((n for n in new if n not in self.prompts), self._next_prompt)
        }
        self._next_prompt += len(new)
        created = ChosenPrompt.objects.bulk_create(rows.values(), batch_size=BATCH_SIZE)
        pks = {row.prompt_id: row.pk for row in created}
        self.prompts |= {name: pks[prompt_ids[digests[name]]] for name in new if name not in self.prompts}


def _text(name: str) -> str:
    """Return a name longer than NAME_SHOWN as the prompt's whole text; return an empty text for a shorter name."""
    return storable(name) if len(name) > MAX_NAME_LENGTH else ""


def _get_or_create_prompts(names: dict[str, str]) -> dict[str, int]:
    """Map each digest to the primary key of its prompt, and create missing prompts."""
    rows = (Prompt(digest=d, name=storable(n)[:MAX_NAME_LENGTH], text=_text(n)) for d, n in sorted(names.items()))
    Prompt.objects.bulk_create(rows, batch_size=BATCH_SIZE, ignore_conflicts=True)
    return dict(Prompt.objects.filter(digest__in=list(names)).values_list("digest", "pk"))


SWAPPED_OUTCOMES = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}


@dataclass
class StoredJudgments:
    """Result of storing a block: numbers of verdicts, problems and duplicates."""

    read: int = 0
    created: int = 0
    changed: int = 0
    alone: int = 0
    problems: list[Problem] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)


Row = Judgment | Problem | Duplicate


class JudgmentImporter:
    """Store of one file's judgments, block by block. `is_open`: the file may add contestants, prompts and criteria."""

    def __init__(self, tournament: Tournament, *, is_open: bool) -> None:
        self.tournament, self.is_open = tournament, is_open
        self.contestants = Contestants(tournament, is_open=is_open)
        self.criteria, self.judges, self.comparisons = (
            Criteria(tournament),
            Judges(tournament),
            ComparisonIndex(tournament),
        )
        self._judgment_counts: Counter[tuple[object, ...]] = Counter()

    def save(self, block: Iterable[tuple[str, Row]]) -> StoredJudgments:
        """Store the judgments of a block of (position in the file, row), and return the result."""
        result = StoredJudgments()
        valid = list(self._valid_judgments(block, result))
        self.contestants.save()
        self.judges.save((judgment.annotator, judgment.is_person) for _, judgment in valid)
        if self.is_open:
            self.comparisons.save((self._pair_key(judgment), judgment.categories) for _, judgment in valid)
        verdicts = list(self._verdicts(valid, result))
        result.created, result.changed = save_imported_verdicts(verdicts)
        result.read = len(verdicts)
        return result

    def _valid_judgments(
        self, block: Iterable[tuple[str, Row]], result: StoredJudgments
    ) -> Iterator[tuple[str, Judgment]]:
        """Yield the judgments with acceptable contestants, criteria and judges.

        Record the remaining rows, problems and duplicates, in `result`.
        """
        for location, row in block:
            if isinstance(row, Problem):
                result.problems.append(row)
            elif isinstance(row, Duplicate):
                result.duplicates.append(row)
            elif reason := self._refusal(row):
                result.problems.append(Problem(location, reason))
            else:
                yield location, row

    def _refusal(self, judgment: Judgment) -> str:
        if not self.is_open and (judgment.criterion or NOT_NAMED) not in self.criteria.by_name:
            return f"is by {judgment.criterion!r}; the criteria are {', '.join(map(repr, self.criteria.by_name))}"
        reason = self.criteria.refusal(judgment.criterion) or self.judges.refusal(judgment.annotator)
        reason = reason or self.contestants.refusal((judgment.model_a, judgment.model_b, *judgment.other_contestants))
        if not reason:
            self.criteria.rubric(judgment.criterion)
        return reason

    def _verdicts(self, valid: list[tuple[str, Judgment]], result: StoredJudgments) -> Iterator[ImportedVerdict]:
        for location, judgment in valid:
            verdict = self._imported_verdict(judgment)
            if verdict is None:
                result.problems.append(
                    Problem(
                        location, f"is on prompt {judgment.prompt[:80]!r}, on which these two contestants did not meet"
                    )
                )
            elif verdict.sample > (MAX_REPEATED_JUDGMENTS if verdict.judge else 0):
                message = f"exceeds the number of judgments of {judgment.annotator!r} that one pair can have"
                result.problems.append(Problem(location, message))
            else:
                result.alone += is_unnamed_prompt(judgment.prompt)
                yield verdict

    def _pair_key(self, judgment: Judgment) -> PairKey:
        a, b = self._ordered_contestants(judgment)
        return judgment.prompt, a, b, Side.A if a.name == judgment.model_a else Side.B

    def _ordered_contestants(self, judgment: Judgment) -> tuple[Contestant, Contestant]:
        a, b = self.contestants.by_name[judgment.model_a], self.contestants.by_name[judgment.model_b]
        return (a, b) if a.place < b.place else (b, a)

    def _imported_verdict(self, judgment: Judgment) -> ImportedVerdict | None:
        a, b = self._ordered_contestants(judgment)
        comparison = self.comparisons.find_id(judgment.prompt, a, b)
        if comparison is None:
            return None
        is_turned = a.name != judgment.model_a
        outcome = judgment.outcome(TIE_THRESHOLD)
        first = ("b" if is_turned else "a") if judgment.order_known else ""
        name = judgment.annotator or NOT_NAMED
        judge, voter = (None, self.judges.people[name]) if judgment.is_person else (self.judges.judges[name], None)
        rubric = self.criteria.rubric(judgment.criterion).pk
        key = (comparison, rubric, judge, voter, first if judge else "")
        sample = self._judgment_counts[key]
        self._judgment_counts[key] += 1
        return ImportedVerdict(
            comparison, rubric, judge, voter, first, sample,
            SWAPPED_OUTCOMES.get(outcome, outcome) if is_turned else outcome,
            _swap_pair(judgment.scores, is_turned), _swap_pair(judgment.lengths, is_turned),
            _swap_share(judgment.preference, is_turned),
        )  # fmt: skip


def _swap_share(share: float | None, is_turned: bool) -> float | None:
    return 1 - share if share is not None and is_turned else share


def _swap_pair(pair: tuple[float, float] | None, is_turned: bool) -> tuple[float, float] | None:
    return (pair[1], pair[0]) if pair and is_turned else pair
