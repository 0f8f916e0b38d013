"""Scores a run's answers afterwards, with any scorer. What it scored already is not asked again: a call that broke off
goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Exists, OuterRef, QuerySet

from runs.ingest.scores import Given, keep_scores
from runs.models import Response, Run, Score
from workers.scorer.scores import Scorer

AT_ONCE = 200
"""Answers between which scores are kept."""
KEYS = ("reward", "cost")


def unscored(run: Run, name: str, step: int | None = None) -> QuerySet[Response]:
    """Answers that hold, whose text is known and that this scorer has not scored; of one step, or of all."""
    scored = Score.objects.filter(response=OuterRef("pk"), scorer=name, key=KEYS[-1])
    found = Response.objects.filter(~Exists(scored), run=run, is_superseded=False, words__isnull=False)
    found = found.select_related("prompt").order_by("pk")
    return found if step is None else found.filter(step=step)


def score(answers: QuerySet[Response], by: Scorer, name: str) -> Iterator[int]:
    """Keeps the scores of these answers; says after each batch how many there are by now. Raises ScorerFailed."""
    ids, done = list(answers.values_list("pk", flat=True)), 0
    for first in range(0, len(ids), AT_ONCE):
        batch = list(
            Response.objects.filter(pk__in=ids[first : first + AT_ONCE]).select_related("prompt").order_by("pk")
        )
        keep_scores(name, _given(batch, by))
        done += len(batch)
        yield done


def _given(batch: Sequence[Response], by: Scorer) -> list[Given]:
    found = by.score([answer.prompt.text for answer in batch], [answer.text for answer in batch])
    pairs = zip(batch, found, strict=True)
    return [(answer.pk, key, getattr(scores, key)) for answer, scores in pairs for key in KEYS]
