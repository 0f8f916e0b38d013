"""Reading what the model answered, and what became of each population."""

from __future__ import annotations

import numpy as np
from ninja import P, QueryEx

from runs import series
from runs.api.auth import ApiRequest, needs
from runs.api.paging import page
from runs.api.routes import router
from runs.api.seeing import Id, Int, Uid, the_run
from runs.api.shapes import PartialOut, PopulationOut, PopulationsOut, PromptOut, ResponseOut, ResponsesOut, Word
from runs.models import Population, Response, Run, list_evaluated_steps


@router.get("/runs/{uid}/responses", response=ResponsesOut, auth=needs("read"), tags=["runs"], summary="Read responses")
def read_responses(
    request: ApiRequest,
    uid: Uid,
    step: Int | None = None,
    split: Word | None = None,
    cursor: Id = None,
    limit: QueryEx[int, P(ge=1, le=1000)] = 100,
) -> ResponsesOut:
    """The answers of a run, in the order written, at one step or of one split (train, eval) where asked."""
    wanted = {"step": step, "split": split}
    run = the_run(request.auth, uid)
    found = Response.objects.filter(run=run).select_related("prompt").prefetch_related("scores")
    found = found.filter(**{name: value for name, value in wanted.items() if value is not None})
    items, following = page(found, cursor, limit, newest_first=False)
    # Counted once, and not again for each of what may be thousands of pages.
    partial = _partial(run) if cursor is None else None
    return ResponsesOut(items=[_shown(answer) for answer in items], next=following, partial=partial)


@router.get(
    "/runs/{uid}/populations", response=PopulationsOut, auth=needs("read"), tags=["runs"], summary="Read populations"
)
def read_populations(
    request: ApiRequest,
    uid: Uid,
    step: Int | None = None,
    cursor: Id = None,
    limit: QueryEx[int, P(ge=1, le=1000)] = 100,
) -> PopulationsOut:
    """The members of each step and their rewards, in the order written."""
    found = Population.objects.filter(run=the_run(request.auth, uid)).select_related("attempt")
    found = found.filter(step=step) if step is not None else found
    items, following = page(found, cursor, limit, newest_first=False)
    shown = [PopulationOut(step=p.step, attempt=p.attempt.n, members=p.members) for p in items]
    return PopulationsOut(items=shown, next=following)


def _partial(run: Run) -> list[PartialOut]:
    evaluated = list_evaluated_steps([run]).get(run.pk, ())
    return [PartialOut(step=e.step, answers=e.answers, whole=e.whole) for e in evaluated if e.is_partial]


def _shown(answer: Response) -> ResponseOut:
    prompt = answer.prompt
    reward, kl = series.sayable(np.array([answer.reward, answer.kl or 0.0]))
    return ResponseOut(
        step=answer.step,
        split=answer.split,
        prompt=PromptOut(id=prompt.pk, name=prompt.name, text=prompt.text, target=prompt.target),
        sample=answer.sample,
        text=answer.text,
        tokens=answer.tokens,
        reward=reward,
        parts=answer.parts,
        kl=None if answer.kl is None else kl,
        scores=_scores(answer),
        is_superseded=answer.is_superseded,
    )


def _scores(answer: Response) -> dict[str, dict[str, float | str]]:
    found: dict[str, dict[str, float | str]] = {}
    for score in answer.scores.all():
        found.setdefault(score.scorer, {})[score.key] = score.value
    return found
