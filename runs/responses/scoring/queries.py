"""Find the responses of a run that a scorer has not scored, and store its scores.

A response that it has scored is not sent to it again: an interrupted call continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from runs.ingest import Given, keep_scores
from runs.models import Response, Run, Score
from workers.scorer.scores import Scorer

AT_ONCE = 200
"""Number of responses that are scored before their scores are stored."""
KEYS = ("reward", "cost")


def unscored(run: Run, name: str, step: int | None = None, split: str = "") -> QuerySet[Response]:
    """Return the responses that this scorer has not scored; of one step or split, or of all.

    Superseded responses and responses without a known text are left out.
    """
    found = _answers(run, step, split).filter(~_scored_by(name))
    return found.select_related("prompt").order_by("pk")


def counted(run: Run, name: str, step: int | None = None, split: str = "") -> tuple[int, int]:
    """Return how many of these responses the scorer has scored, and how many there are."""
    found = _answers(run, step, split).aggregate(done=Count("pk", filter=Q(_scored_by(name))), total=Count("pk"))
    return found["done"], found["total"]


def score(answers: QuerySet[Response], by: Scorer, name: str, at_once: int = AT_ONCE) -> Iterator[int]:
    """Score these responses and store the scores. Yield after each batch how many are scored by now.

    Raise ScorerFailed if the scorer fails.
    """
    ids, done = list(answers.values_list("pk", flat=True)), 0
    for first in range(0, len(ids), at_once):
        batch = list(
            Response.objects.filter(pk__in=ids[first : first + at_once]).select_related("prompt").order_by("pk")
        )
        keep_scores(name, _given(batch, by))
        done += len(batch)
        yield done


def _answers(run: Run, step: int | None, split: str) -> QuerySet[Response]:
    found = Response.objects.filter(run=run, is_superseded=False, words__isnull=False)
    found = found if step is None else found.filter(step=step)
    return found.filter(split=split) if split else found


def _scored_by(name: str) -> Exists:
    return Exists(Score.objects.filter(response=OuterRef("pk"), scorer=name, key=KEYS[-1]))


def _given(batch: Sequence[Response], by: Scorer) -> list[Given]:
    found = by.score([answer.prompt.text for answer in batch], [answer.text for answer in batch])
    pairs = zip(batch, found, strict=True)
    return [(answer.pk, key, getattr(scores, key)) for answer, scores in pairs for key in KEYS]
