"""Show the model's responses at each step: prompt by prompt, the greedy response first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.http import SignedIn, UnknownChoice, must_be_one_of, page_of, require_choice
from runs.models import EVALUATION, Prompt, Response, Run, choose_last_step, list_evaluated_steps
from runs.responses.completions import has_completions
from runs.responses.diff import Piece, diff_pieces

PROMPTS_A_PAGE = 8
BASELINES = {"nothing": _("without differences"), "base": _("differences from the base model")}
SAMPLE_FILTERS = {"all": _("greedy and samples"), "greedy": _("greedy only"), "samples": _("samples only")}
RESPONSE_PARAMETERS = ("step", "which", "against", "prompts")


@dataclass(frozen=True)
class Answer:
    """A response; if it is compared with the base model's, the `pieces` in which they differ."""

    response: Response
    pieces: list[Piece] | None = None


@dataclass(frozen=True)
class AnsweredPrompt:
    """A prompt and its responses at one step. `has_base`: the base model's responses exist."""

    prompt: Prompt
    answers: list[Answer]
    has_base: bool


def responses_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """Return the responses at the requested step, else at the last step whose evaluation is whole."""
    evaluations = {str(evaluated.step): evaluated for evaluated in list_evaluated_steps([run]).get(run.pk, ())}
    last = choose_last_step(list(evaluations.values()))
    step_param = request.GET.get("step", "")
    if step_param and step_param not in evaluations:
        raise UnknownChoice(must_be_one_of("step", list(evaluations), step_param))
    evaluation = evaluations[step_param] if step_param else last
    step = evaluation.step if evaluation else None
    which = require_choice(request, "which", SAMPLE_FILTERS, "all")
    against = require_choice(request, "against", BASELINES, "nothing")
    page = _prompts(request, run, step)
    return {
        "evaluations": list(evaluations.values()), "evaluation": evaluation, "last_evaluation": last,
        "response_step": step, "which": which, "against": against,
        "which_choices": {name: gettext(words) for name, words in SAMPLE_FILTERS.items()},
        "against_choices": {name: gettext(words) for name, words in BASELINES.items()},
        "has_completions": has_completions(run),
        "prompt_page": page, "answered_prompts": _answered_prompts(run, step, which, against, list(page)),
    }  # fmt: skip


def _current_responses(run: Run) -> Any:
    # After a resume a step may have been evaluated twice: the later evaluation counts.
    return Response.objects.filter(run=run, split=EVALUATION, is_superseded=False)


def _prompts(request: SignedIn, run: Run, step: int | None) -> Page[Prompt]:
    ids = _current_responses(run).filter(step=step).order_by().values("prompt_id").distinct()
    return page_of(request, Prompt.objects.filter(pk__in=ids).order_by("name", "pk"), PROMPTS_A_PAGE, "prompts")


def _answered_prompts(
    run: Run, step: int | None, which: str, against: str, prompts: list[Prompt]
) -> list[AnsweredPrompt]:
    answers = _answers(run, step, which, prompts)
    # Before the first update, the centre weights are the base model's.
    base = _answers(run, 0, "all", prompts) if against == "base" else []
    texts = {(response.prompt_id, response.sample): response.text for response in base}
    return [_compare_with_base(prompt, [a for a in answers if a.prompt_id == prompt.pk], texts) for prompt in prompts]


def _compare_with_base(prompt: Prompt, answers: list[Response], base: dict[tuple[int, int], str]) -> AnsweredPrompt:
    pairs = [(answer, base.get((prompt.pk, answer.sample))) for answer in answers]
    compared = [Answer(answer, None if text is None else diff_pieces(text, answer.text)) for answer, text in pairs]
    return AnsweredPrompt(prompt, compared, (prompt.pk, 0) in base)


def _answers(run: Run, step: int | None, which: str, prompts: list[Prompt]) -> list[Response]:
    rows = _current_responses(run).filter(step=step, prompt__in=prompts).order_by("prompt_id", "sample")
    return [row for row in rows if which == "all" or (row.sample == 0) == (which == "greedy")]
