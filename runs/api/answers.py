"""Reading what the model answered."""

from __future__ import annotations

import numpy as np
from ninja import P, QueryEx

from runs import series
from runs.api.auth import ApiRequest, needs
from runs.api.routes import router
from runs.api.seeing import Id, Uid, the_run
from runs.api.shapes import PromptOut, ResponseOut, ResponsesOut, Word
from runs.models import Response


@router.get("/runs/{uid}/responses", response=ResponsesOut, auth=needs("read"), tags=["runs"], summary="Read responses")
def read_responses(
    request: ApiRequest,
    uid: Uid,
    step: QueryEx[int | None, P(ge=-(2**63), le=2**63 - 1)] = None,
    split: Word | None = None,
    cursor: Id = None,
    limit: QueryEx[int, P(ge=1, le=1000)] = 100,
) -> ResponsesOut:
    """The answers of a run, in the order written, at one step or of one split (train, eval) where asked."""
    run = the_run(request.auth, uid)
    wanted = {"step": step, "split": split, "pk__gt": cursor}
    answers = Response.objects.filter(run=run, **{name: value for name, value in wanted.items() if value is not None})
    page = list(answers.select_related("prompt").order_by("pk")[: limit + 1])
    following = page[limit - 1].pk if len(page) > limit else None
    return ResponsesOut(items=[_shown(answer) for answer in page[:limit]], next=following)


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
    )
