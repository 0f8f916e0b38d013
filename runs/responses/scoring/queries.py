"""Find the responses of a run that a scorer has not scored, and store its scores.

A response that it has scored is not sent to it again: an interrupted call continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from runs.ingest import GivenScore, save_scores
from runs.models import TRAINING, Response, Run, Score
from workers.scorer.scores import Scorer

BATCH_SIZE = 200
"""Number of responses that are scored before their scores are stored."""
KEYS = ("reward", "cost")


def unscored(run: Run, name: str, step: int | None = None, split: str = "") -> QuerySet[Response]:
    """Return the responses that this scorer has not scored; of one step or split, or of all splits but the
    training's own completions.

    Superseded responses and responses without a known text are left out.
    """
    responses = _scorable_responses(run, step, split).filter(~_scored_by(name))
    return responses.select_related("prompt").order_by("pk")


def count_scored(run: Run, name: str, step: int | None = None, split: str = "") -> tuple[int, int]:
    """Return the number of these responses that the scorer has scored, and their total number."""
    counts = _scorable_responses(run, step, split).aggregate(
        done=Count("pk", filter=Q(_scored_by(name))), total=Count("pk")
    )
    return counts["done"], counts["total"]


def score(answers: QuerySet[Response], scorer: Scorer, name: str, batch_size: int = BATCH_SIZE) -> Iterator[int]:
    """Score these responses and store the scores. Yield the number of scored responses after each batch.

    Raise ScorerFailed if the scorer fails.
    """
    ids, done = list(answers.values_list("pk", flat=True)), 0
    for first in range(0, len(ids), batch_size):
        batch = list(
            Response.objects.filter(pk__in=ids[first : first + batch_size]).select_related("prompt").order_by("pk")
        )
        save_scores(name, _score_rows(batch, scorer))
        done += len(batch)
        yield done


def _scorable_responses(run: Run, step: int | None, split: str) -> QuerySet[Response]:
    responses = Response.objects.filter(run=run, is_superseded=False, words__isnull=False)
    responses = responses if step is None else responses.filter(step=step)
    return responses.filter(split=split) if split else responses.exclude(split=TRAINING)


def _scored_by(name: str) -> Exists:
    return Exists(Score.objects.filter(response=OuterRef("pk"), scorer=name, key=KEYS[-1]))


def _score_rows(batch: Sequence[Response], scorer: Scorer) -> list[GivenScore]:
    batch_scores = scorer.score([answer.prompt.text for answer in batch], [answer.text for answer in batch])
    pairs = zip(batch, batch_scores, strict=True)
    return [(answer.pk, key, getattr(scores, key)) for answer, scores in pairs for key in KEYS]
