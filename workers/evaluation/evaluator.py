"""The evaluator: held-out prompts in, values and judged answers out. It leaves the training as it found it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from workers.analysis.keys import CAPTURED
from workers.config import EvaluationConfig
from workers.evaluation.kl import TokenKl, kl_per_token
from workers.evaluation.likelihood import Likelihood, candidates_of, likelihoods
from workers.evaluation.summary import Answer, summarise
from workers.models import Loaded, PromptFormat
from workers.models.decoder import Completion, evaluating_decoder
from workers.records import Response
from workers.tasks import Task, score_safely


class EvaluationDecoder(Protocol):
    """Answers prompts of token ids with the weights to evaluate."""

    @property
    def is_captured(self) -> bool:
        """Return whether captured steps write the responses (`workers.models.decoder.gpu.decoder`)."""

    def greedy(self, prompts: Sequence[Sequence[int]], max_new_tokens: int) -> list[Completion]:
        """Return the likeliest response, token by token, to each prompt."""

    def sample(
        self, prompts: Sequence[Sequence[int]], max_new_tokens: int, temperature: float, seed: int
    ) -> list[Completion]:
        """Return responses sampled at `temperature`; the samples depend on the seed and the prompt's position alone."""


@dataclass(frozen=True)
class Evaluation:
    """The results of one step's weights. Keys of `values`: reward/…, accuracy/…, likelihood/…, response/…,
    sample/…, kl…

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
        self._base: nn.Module | None = base.model if base_is_frozen else frozen_copy(base.model)
        self._tokenizer = base.tokenizer
        self._task = task
        self._plan = plan
        self._max_new_tokens = plan.max_new_tokens or max_new_tokens
        self._examples = task.examples("eval")[: plan.prompts]
        self._format = prompts or PromptFormat(base.tokenizer)
        self._prompts = [self._format.ids(example.messages) for example in self._examples]
        self._candidates = [candidates_of(task, example, self._format) for example in self._examples]

    def to(self, device: torch.device) -> None:
        """Move the reference of the KL to the device of the models to evaluate."""
        if self._base is not None:
            self._base.to(device)

    @property
    def base(self) -> nn.Module:
        """The reference of the KL, frozen. Raise ValueError if it was dropped."""
        if self._base is None:
            raise ValueError("this evaluator has no reference")
        return self._base

    def base_copy(self, device: torch.device) -> nn.Module:
        """Return a frozen copy of the reference on a device."""
        # What a trainer has put in place of the reference's forward pass calls that of the original.
        patches = self.base.__dict__.pop("forward", None)
        try:
            return frozen_copy(self.base).to(device)
        finally:
            if patches is not None:
                self.base.__dict__["forward"] = patches

    def drop_base(self) -> None:
        """Forget the reference of the KL: evaluations measure none from now on."""
        self._base = None

    def run(self, model: nn.Module | None, step: int, decoder: EvaluationDecoder | None = None) -> Evaluation:
        """Evaluate `model`, on the base's device and in its dtype. Raise RewardFailed.

        `decoder` answers in place of the model, which then only reads the responses for the KL, and the candidates for
        the likelihood. If it is None, after `drop_base`, neither is measured.
        """
        with nullcontext() if model is None else _undisturbed(model):
            answering: EvaluationDecoder = decoder or evaluating_decoder(model, self._tokenizer)
            answers = self._judge(model, self._completions(answering))
        values = summarise(answers) | ({CAPTURED: 1.0} if _rounds_by_steps(answering, model) else {})
        return Evaluation(values, [self._response(answer, step) for answer in answers], answers)

    def _completions(self, decoder: EvaluationDecoder) -> list[tuple[int, int, Completion]]:
        """(example, sample, completion): the greedy ones first, then each round of samples over all prompts."""
        plan, count = self._plan, len(self._prompts)
        answers = decoder.greedy(self._prompts, self._max_new_tokens)
        if plan.samples:
            prompts = self._prompts * plan.samples
            answers = answers + decoder.sample(prompts, self._max_new_tokens, plan.temperature, plan.seed)
        return [(i % count, i // count, completion) for i, completion in enumerate(answers)]

    def _judge(self, model: nn.Module | None, completions: Sequence[tuple[int, int, Completion]]) -> list[Answer]:
        prompts = [self._prompts[i] for i, _, _ in completions]
        kls: Sequence[TokenKl | None] = [None] * len(completions)
        if model is not None and self._base is not None:
            kls = kl_per_token(model, self._base, prompts, [c.tokens for _, _, c in completions])
        compared: list[Likelihood | None] = [None] * len(self._prompts)
        if model is not None:
            compared = likelihoods(model, self._prompts, self._candidates)
        examples = [self._examples[i] for i, _, _ in completions]
        pairs = [(example, c.text) for example, (_, _, c) in zip(examples, completions, strict=True)]
        judged = zip(examples, completions, score_safely(self._task, pairs), kls, strict=True)
        return [
            Answer(example, sample, c, score, kl, compared[i] if sample == 0 else None)
            for example, (i, sample, c), score, kl in judged
        ]

    def _response(self, answer: Answer, step: int) -> Response:
        return Response(
            step=step,
            split="eval",
            prompt_id=answer.example.id,
            sample=answer.sample,
            text=answer.completion.text,
            tokens=len(answer.completion.tokens),
            reward=answer.score.reward,
            parts=answer.score.parts
            | ({"clipped": 1.0} if answer.completion.clipped else {})
            | ({} if answer.likelihood is None else answer.likelihood.parts()),
            kl=None if answer.kl is None else float(answer.kl.exact.sum()),
            prompt=self._format.display_text(answer.example.messages),
            target=answer.example.target,
            categories=answer.example.categories,
        )


def _rounds_by_steps(decoder: EvaluationDecoder, model: nn.Module | None) -> bool:
    """Return whether responses may differ from those of other decoders, by the rounding of captured steps."""
    return decoder.is_captured and model is not None and next(model.parameters()).dtype != torch.float32


def frozen_copy(model: nn.Module) -> nn.Module:
    """Return a copy of a model in evaluation mode and without gradients."""
    return copy.deepcopy(model).requires_grad_(False).eval()


@contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """Evaluation mode, no gradients. Mode and random streams are put back: evaluating more often changes no run."""
    was_training = model.training
    device = next(model.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad(), _attention(device):
        model.eval()
        try:
            yield
        finally:
            model.train(was_training)


def _attention(device: torch.device) -> AbstractContextManager[None]:
    """Leave cuDNN's attention out on a GPU: it plans a kernel for each new number of rows and tokens, which takes
    longer than an evaluation."""
    if device.type != "cuda":
        return nullcontext()
    return sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])
