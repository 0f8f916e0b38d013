"""Draw the responses of a label set: as many of each run and step, and each pair of prompt and text once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import or_
from random import Random
from typing import Any

from django.db.models import Max, Q, QuerySet
from django.db.models.functions import MD5, Length
from django.utils.translation import gettext

from runs.http import must_be_one_of
from runs.models import Response, Run
from workers.analysis.labels import MAX_CELL_LENGTH

MAX_CANDIDATES = 100_000
ALL, LAST = "all", "last"
MAX_STEPS = 1000


class CannotDraw(ValueError):
    """Error for a drawing that selects nothing or too much; `field` is the field of `Drawing` to change."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Drawing:
    """Selection of the responses of a set.

    runs: uids. steps: all, last (of each run), or numbers separated by commas. greedy: greedy responses alone, without
    samples. available: distinct pairs of prompt and text; strata: pairs of run and step; both are known afterwards.
    """

    runs: tuple[str, ...]
    steps: str
    split: str
    number: int
    greedy: bool = False
    available: int = 0
    strata: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the fields as `LabelSet.drawn` stores them."""
        return asdict(self) | {"runs": list(self.runs)}


@dataclass(frozen=True)
class Candidate:
    """A response that may be drawn: its row, its stratum (run, step), and its texts as a pair of digests."""

    pk: int
    run: str
    step: int
    sample: int
    pair: tuple[str, str]


def draw(candidates: Iterable[Candidate], number: int, seed: int) -> list[Candidate]:
    """Return at most `number` candidates: in turn one of each stratum, each pair of texts once.

    The result depends on the responses and the seed, not on their order or keys.
    """
    random, strata = Random(f"labels {seed}"), defaultdict[tuple[str, int], list[Candidate]](list)
    for candidate in sorted(candidates, key=lambda candidate: (candidate.run, candidate.step, candidate.pair)):
        strata[candidate.run, candidate.step].append(candidate)
    queues = [strata[stratum] for stratum in sorted(strata)]
    for queue in queues:
        # Greedy responses come first among equal texts.
        queue.sort(key=lambda candidate: (candidate.pair, candidate.sample))
        random.shuffle(queue)
    random.shuffle(queues)
    drawn, pairs = list[Candidate](), set[tuple[str, str]]()
    while queues and len(drawn) < number:
        for queue in queues:
            while queue and queue[-1].pair in pairs:
                queue.pop()
            if queue and len(drawn) < number:
                drawn.append(queue.pop())
                pairs.add(drawn[-1].pair)
        queues = [queue for queue in queues if queue]
    return drawn


def find_candidates(runs: Sequence[Run], drawing: Drawing) -> list[Candidate]:
    """Return the responses that the drawing selects, without superseded ones and those without text. Raise
    CannotDraw."""
    rows = Response.objects.filter(
        run__in=[run.pk for run in runs], split=drawing.split, is_superseded=False, words__isnull=False
    )
    rows = rows.filter(sample=0) if drawing.greedy else rows
    rows = _of_steps(rows, drawing.steps).annotate(length=Length("text"), text_digest=MD5("text"))
    rows = rows.filter(length__lte=MAX_CELL_LENGTH)
    fields = rows.values_list("pk", "run__uid", "step", "sample", "prompt__digest", "text_digest")
    candidates = [
        Candidate(pk, uid, step, sample, (prompt, text))
        for pk, uid, step, sample, prompt, text in fields[: MAX_CANDIDATES + 1]
    ]
    if len(candidates) > MAX_CANDIDATES:
        message = gettext("These are more than %(most)s responses: select fewer runs or steps.")
        raise CannotDraw(message % {"most": MAX_CANDIDATES}, "steps")
    if not candidates:
        raise _nothing(runs, drawing)
    return candidates


def parse_steps(text: str) -> list[int] | None:
    """Return the steps of a text such as "0, 50"; None for the words all and last. Raise CannotDraw for another."""
    if text in (ALL, LAST):
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > MAX_STEPS or not all(part.isascii() and part.isdecimal() and len(part) <= 18 for part in parts):
        message = gettext("steps must be all, last, or numbers separated by commas, not %(value)r.")
        raise CannotDraw(message % {"value": text[:100]}, "steps")
    return [int(part) for part in parts]


def _of_steps(rows: QuerySet[Response], text: str) -> QuerySet[Response]:
    if text == LAST:
        last = rows.order_by().values_list("run").annotate(last=Max("step"))
        ends = [Q(run=run, step=step) for run, step in last]
        return rows.filter(reduce(or_, ends)) if ends else rows.none()
    steps = parse_steps(text)
    return rows if steps is None else rows.filter(step__in=steps)


def _nothing(runs: Sequence[Run], drawing: Drawing) -> CannotDraw:
    """Return why nothing was selected, with the valid choices."""
    rows = Response.objects.filter(run__in=[run.pk for run in runs], is_superseded=False, words__isnull=False)
    splits = sorted(rows.order_by().values_list("split", flat=True).distinct())
    if not splits:
        message = gettext("These runs have no saved responses. Each evaluation saves them, unless it is set off.")
        return CannotDraw(message, "runs")
    if drawing.split not in splits:
        return CannotDraw(must_be_one_of("split", splits, drawing.split), "split")
    steps = rows.filter(split=drawing.split).order_by("step").values_list("step", flat=True).distinct()
    return CannotDraw(must_be_one_of("steps", [ALL, LAST, *map(str, steps)], drawing.steps), "steps")
