"""Show the model's responses at each step: prompt by prompt, the greedy response first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe
from django_htmx.http import replace_url

from runs.http import SignedIn, UnknownChoice, must_be_one_of, page_of, run_address, selected, visible_run
from runs.models import EVALUATION, Prompt, Response, Run, choose_last_step, list_evaluated_steps
from runs.responses.diff import Piece, pieces

PROMPTS_A_PAGE = 8
AGAINST = {"nothing": _("as they are"), "base": _("what differs from the base model's")}
WHICH = {"all": _("greedy and samples"), "greedy": _("greedy only"), "samples": _("samples only")}
PARAMETERS = ("step", "which", "against", "prompts")


@dataclass(frozen=True)
class Answer:
    """A response; where it is held against the base model's, the `pieces` in which they differ."""

    response: Response
    pieces: list[Piece] | None = None


@dataclass(frozen=True)
class AnsweredPrompt:
    """A prompt and the answers to it at one step. `has_base`: the base model's answers were found."""

    prompt: Prompt
    answers: list[Answer]
    has_base: bool


def responses_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """The responses at the step that is asked for, else at the last one whose answers are all here."""
    evaluations = {str(one.step): one for one in list_evaluated_steps([run]).get(run.pk, ())}
    last = choose_last_step(list(evaluations.values()))
    asked = request.GET.get("step", "")
    if asked and asked not in evaluations:
        raise UnknownChoice(must_be_one_of("step", list(evaluations), asked))
    evaluation = evaluations[asked] if asked else last
    step = evaluation.step if evaluation else None
    which = selected(request, "which", WHICH, "all")
    against = selected(request, "against", AGAINST, "nothing")
    page = _prompts(request, run, step)
    return {
        "evaluations": list(evaluations.values()), "evaluation": evaluation, "last_evaluation": last,
        "response_step": step, "which": which, "against": against,
        "which_choices": {name: gettext(words) for name, words in WHICH.items()},
        "against_choices": {name: gettext(words) for name, words in AGAINST.items()},
        "prompt_page": page, "asked": _asked(run, step, which, against, list(page)),
    }  # fmt: skip


@require_safe
def run_responses(request: SignedIn, uid: str) -> HttpResponse:
    """The responses alone, for htmx; anybody else is sent to the page they stand on."""
    run = visible_run(request, uid)
    chosen = {name: request.GET[name] for name in PARAMETERS if request.GET.get(name)}
    if not request.htmx:
        return redirect(f"{run.get_absolute_url()}?{urlencode(chosen)}#responses")
    context = {"run": run, **responses_context(request, run)}
    response = TemplateResponse(request, "run_page/run.html#responses", context)
    return replace_url(response, run_address(request, run, PARAMETERS, chosen)) if "asked" in request.GET else response


def _kept(run: Run) -> Any:
    # After a resume a step may have been evaluated twice: the later evaluation holds.
    return Response.objects.filter(run=run, split=EVALUATION, is_superseded=False)


def _prompts(request: SignedIn, run: Run, step: int | None) -> Page[Prompt]:
    ids = _kept(run).filter(step=step).order_by().values("prompt_id").distinct()
    return page_of(request, Prompt.objects.filter(pk__in=ids).order_by("name", "pk"), PROMPTS_A_PAGE, "prompts")


def _asked(run: Run, step: int | None, which: str, against: str, prompts: list[Prompt]) -> list[AnsweredPrompt]:
    answers = _answers(run, step, which, prompts)
    # Before the first update, the centre weights are the base model's.
    base = _answers(run, 0, "all", prompts) if against == "base" else []
    texts = {(response.prompt_id, response.sample): response.text for response in base}
    return [_held_against(prompt, [a for a in answers if a.prompt_id == prompt.pk], texts) for prompt in prompts]


def _held_against(prompt: Prompt, answers: list[Response], base: dict[tuple[int, int], str]) -> AnsweredPrompt:
    pairs = [(answer, base.get((prompt.pk, answer.sample))) for answer in answers]
    held = [Answer(answer, None if text is None else pieces(text, answer.text)) for answer, text in pairs]
    return AnsweredPrompt(prompt, held, (prompt.pk, 0) in base)


def _answers(run: Run, step: int | None, which: str, prompts: list[Prompt]) -> list[Response]:
    rows = _kept(run).filter(step=step, prompt__in=prompts).order_by("prompt_id", "sample")
    return [row for row in rows if which == "all" or (row.sample == 0) == (which == "greedy")]
