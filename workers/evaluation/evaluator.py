"""The evaluator: held-out prompts in, values and judged answers out. It leaves the training as it found it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from workers.config import EvaluationConfig
from workers.evaluation.kl import kl_per_token
from workers.evaluation.summary import Answer, summarise
from workers.models import Loaded, PromptFormat
from workers.models.decoder import Completion, Decoder
from workers.records import Response
from workers.tasks import Task, score_safely


@dataclass(frozen=True)
class Evaluation:
    """The results of one step's weights. Keys of `values`: reward/…, accuracy/…, response/…, sample/…, kl…

    `answers` are in the order of `responses`: the greedy ones first, then each round of samples over all prompts.
    """

    values: dict[str, float]
    responses: list[Response]
    answers: list[Answer]


class Evaluator:
    """An evaluator that puts the same questions with the same sampling seed each time, to any training's model.

    `base` is copied, so that training `base.model` afterwards leaves the reference of the KL where it was; with
    `base_is_frozen`, it is used itself, and several evaluators can share it. `prompts` is the training's format;
    without one, auto.
    """

    def __init__(
        self,
        base: Loaded,
        task: Task,
        plan: EvaluationConfig,
        max_new_tokens: int,
        prompts: PromptFormat | None = None,
        *,
        base_is_frozen: bool = False,
    ) -> None:
        self._base = base.model if base_is_frozen else frozen_copy(base.model)
        self._tokenizer = base.tokenizer
        self._task = task
        self._plan = plan
        self._max_new_tokens = plan.max_new_tokens or max_new_tokens
        self._examples = task.examples("eval")[: plan.prompts]
        self._format = prompts or PromptFormat(base.tokenizer)
        self._prompts = [self._format.ids(example.messages) for example in self._examples]

    def run(self, model: nn.Module, step: int) -> Evaluation:
        """Evaluate `model`, on the base's device and in its dtype. Raise RewardFailed."""
        with _undisturbed(model):
            answers = self._judge(model, self._completions(model))
        return Evaluation(summarise(answers), [self._response(answer, step) for answer in answers], answers)

    def _completions(self, model: nn.Module) -> list[tuple[int, int, Completion]]:
        """(example, sample, completion): the greedy ones first, then each round of samples over all prompts."""
        decoder, plan, count = Decoder(model, self._tokenizer), self._plan, len(self._prompts)
        answers = decoder.greedy(self._prompts, self._max_new_tokens)
        if plan.samples:
            prompts = self._prompts * plan.samples
            answers = answers + decoder.sample(prompts, self._max_new_tokens, plan.temperature, plan.seed)
        return [(i % count, i // count, completion) for i, completion in enumerate(answers)]

    def _judge(self, model: nn.Module, completions: Sequence[tuple[int, int, Completion]]) -> list[Answer]:
        prompts = [self._prompts[i] for i, _, _ in completions]
        kls = kl_per_token(model, self._base, prompts, [c.tokens for _, _, c in completions])
        examples = [self._examples[i] for i, _, _ in completions]
        pairs = [(example, c.text) for example, (_, _, c) in zip(examples, completions, strict=True)]
        judged = zip(examples, completions, score_safely(self._task, pairs), kls, strict=True)
        return [Answer(example, sample, c, score, kl) for example, (_, sample, c), score, kl in judged]

    def _response(self, answer: Answer, step: int) -> Response:
        return Response(
            step=step,
            split="eval",
            prompt_id=answer.example.id,
            sample=answer.sample,
            text=answer.completion.text,
            tokens=len(answer.completion.tokens),
            reward=answer.score.reward,
            parts=answer.score.parts | ({"clipped": 1.0} if answer.completion.clipped else {}),
            kl=float(answer.kl.exact.sum()),
            prompt=self._format.display_text(answer.example.messages),
            target=answer.example.target,
            categories=answer.example.categories,
        )


def frozen_copy(model: nn.Module) -> nn.Module:
    """Return a copy of a model in evaluation mode and without gradients."""
    return copy.deepcopy(model).requires_grad_(False).eval()


@contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """Evaluation mode, no gradients. Mode and random streams are put back: evaluating more often changes no run."""
    was_training = model.training
    device = next(model.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad():
        model.eval()
        try:
            yield
        finally:
            model.train(was_training)
