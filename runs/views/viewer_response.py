"""One answer by itself, at an address that holds as long as its run does: for a link in a paper or a message."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs.models import Response, Run
from runs.viewer.columns import Column
from runs.views.parameters import SignedIn
from runs.views.viewer import is_covered
from runs.views.viewer_cells import Cell
from runs.views.visible import visible_run


@require_safe
def viewer_response(request: SignedIn, uid: str, step: int, digest: str) -> HttpResponse:
    """The answer with all that is known of it."""
    run = visible_run(request, uid)
    sample = request.GET.get("sample", "0")
    is_number = sample.isascii() and sample.isdigit() and len(sample) < 9
    found = answers_of(run, step, digest).filter(sample=int(sample) if is_number else -1).first()
    if found is None:
        raise Http404("this run has kept no such answer")
    cell = Cell(Column("A", run, step), found, found.reward, found.cost)
    scores = found.scores.order_by("scorer", "key")
    context = {
        "run": run, "cell": cell, "prompt": found.prompt, "scores": scores, "step": step, "sample": found.sample,
        "is_covered": found.cost is not None and is_covered(request), "parts": sorted(found.parts.items()),
        "others": answers_of(run, step, digest).exclude(pk=found.pk).order_by("sample"),
    }  # fmt: skip
    return TemplateResponse(request, "runs/viewer_response.html", context)


def answers_of(run: Run, step: int, digest: str) -> QuerySet[Response]:
    """Those that hold, of the prompt whose digest begins so."""
    found = Response.objects.filter(run=run, step=step, split="eval", is_superseded=False)
    return found.filter(prompt__digest__startswith=digest).select_related("prompt")
