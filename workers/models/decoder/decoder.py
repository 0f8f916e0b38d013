"""Answers to prompts, of one model or a population: greedy ones equal to transformers' `generate`, or drawn ones.

    Decoder(model, tokenizer).greedy([PromptFormat(tokenizer).ids(messages)], max_new_tokens=40)

A prompt is its token ids; or text that holds all its special tokens: none are added to it.

Pure decoding: penalties and filters in the model's generation config are not applied; its end tokens are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

import torch
from torch import Tensor

from workers.models.decoder.generate import generate
from workers.models.decoder.loop import Choose, Measure, decode, greedy, sampler, unmeasured
from workers.models.decoder.shape import Shape, UnknownShape, shape_of
from workers.models.decoder.weights import Plain, Weights

Prompt: TypeAlias = str | Sequence[int]
CACHE_BYTES_CUDA = 3 * 1024**3
"""Bytes of keys and values that are held together on a GPU: an evaluation must leave room for the training model."""
logger = logging.getLogger(__name__)
_logged_reasons: set[str] = set()


@dataclass(frozen=True)
class Completion:
    """An answer: its tokens through the end token, its text without special tokens, and whether it was cut off."""

    tokens: list[int]
    text: str
    clipped: bool


class Decoder:
    """Decodes with a model's weights as they are at each call. At most `rows` responses are written together.

    An architecture that `shape_of` does not know is decoded by transformers, and the log reports it once; `shape` is
    then None, as it is if `by_transformers` asks for that. `measure` is called with prefill and decode around the work
    of each batch; with decode alone if transformers does both in one call.
    """

    is_captured = False
    """Whether captured steps write the responses."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        rows: int = 512,
        *,
        by_transformers: bool = False,
        measure: Measure = unmeasured,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.rows = rows
        self.measure = measure
        self.ends = end_tokens(model, tokenizer)
        self.shape = None if by_transformers else _known_shape(model)

    def greedy(self, prompts: Sequence[Prompt], max_new_tokens: int) -> list[Completion]:
        """Return the likeliest response, token by token, to each prompt."""
        ids = self.tokens(prompts)
        if self.shape is None:
            return self.completions(self._generate(ids, max_new_tokens))
        return self.completions(self._answers(self._plain(self.shape), ids, max_new_tokens, greedy)[0])

    def sample(self, prompts: Sequence[Prompt], max_new_tokens: int, temperature: float, seed: int) -> list[Completion]:
        """Return responses sampled at `temperature`; the samples depend on the seed and the prompt's position alone."""
        ids = self.tokens(prompts)
        if self.shape is None:
            return self.completions(self._generate(ids, max_new_tokens, temperature, seed))
        choose = sampler(len(ids), max_new_tokens, temperature, seed, self.ends.device)
        return self.completions(self._answers(self._plain(self.shape), ids, max_new_tokens, choose)[0])

    def population(self, weights: Weights, prompts: Sequence[Prompt], max_new_tokens: int) -> list[list[Completion]]:
        """Greedy answers [member][prompt] of a population of this model's shape. Raises UnknownShape."""
        answers = self._answers(weights, self.tokens(prompts), max_new_tokens, greedy)
        return [self.completions(of_member) for of_member in answers]

    def last_logits(self, prompts: Sequence[Prompt]) -> Tensor:
        """Return the logits [prompts, vocabulary] after each prompt's last token. Raises UnknownShape."""
        ids = self.tokens(prompts)
        logits: dict[int, Tensor] = {}

        def keep(batch: Tensor, places: Tensor, number: int) -> Tensor:
            logits.update(zip(places.tolist(), batch.clone().unbind(), strict=True))
            return greedy(batch, places, number)

        self._answers(self._plain(self.known_shape()), ids, 1, keep)
        return torch.stack([logits[index] for index in range(len(ids))])

    def known_shape(self) -> Shape:
        """Return the model's shape. Raise UnknownShape if only transformers can decode it."""
        return shape_of(self.model) if self.shape is None else self.shape

    def _generate(
        self, ids: list[list[int]], max_new: int, temperature: float | None = None, seed: int = 0
    ) -> list[list[int]]:
        """Token lists by transformers."""
        with self.measure("decode"):
            return generate(self.model, ids, max_new, self.ends, self.rows, temperature, seed)

    def _plain(self, shape: Shape) -> Plain:
        return Plain(dict(self.model.named_parameters()), shape)

    def _answers(self, weights: Weights, ids: list[list[int]], max_new: int, choose: Choose) -> list[list[list[int]]]:
        """Token lists [member][prompt], decoded in batches of whole prompts."""
        answers: list[list[list[int]]] = [[] for _ in range(weights.members)]
        step = max(1, self._rows_at_once(ids, max_new) // weights.members)
        for start in range(0, len(ids), step):
            choose_piece, rotary = _shifted(choose, start * weights.members), self.model.model.rotary_emb
            piece, shape = ids[start : start + step], self.known_shape()
            batch = decode(weights, shape, rotary, piece, max_new, self.ends, choose_piece, self.measure)
            for so_far, more in zip(answers, batch, strict=True):
                so_far.extend(more)
        return answers

    def _rows_at_once(self, ids: list[list[int]], max_new: int) -> int:
        shape = self.known_shape()
        if not ids or self.ends.device.type != "cuda":
            return self.rows
        numbers = len(shape.layers) * 2 * shape.kv_heads * shape.head_dim * (max(map(len, ids)) + max_new)
        number_bytes: int = self.model.lm_head.weight.element_size()
        return max(1, min(self.rows, CACHE_BYTES_CUDA // (numbers * number_bytes)))

    def tokens(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return the token ids of each prompt. Raise ValueError for one without any."""
        texts = [prompt for prompt in prompts if isinstance(prompt, str)]
        of_text = iter(self.tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else ())
        ids = [next(of_text) if isinstance(prompt, str) else list(prompt) for prompt in prompts]
        for prompt, tokens in zip(prompts, ids, strict=True):
            if not tokens:
                raise ValueError(f"a prompt must have at least one token, but {prompt!r} has none")
        return ids

    def completions(self, answers: Sequence[list[int]]) -> list[Completion]:
        """Return the answers of these tokens and their texts."""
        return decode_texts(self.tokenizer, set(self.ends.tolist()), answers)


def has_captured_steps(model: Any) -> bool:
    """Return whether captured steps can answer with a model: on a GPU with Triton, if the decoder knows its shape."""
    # Triton comes with torch for GPUs, and with no other.
    is_possible = model.device.type == "cuda" and find_spec("triton") is not None
    return is_possible and _known_shape(model) is not None


def evaluating_decoder(model: Any, tokenizer: Any) -> Decoder:
    """Return what answers evaluations and probes with this model, whoever trains it: by captured steps where it can."""
    if not has_captured_steps(model):
        return Decoder(model, tokenizer)
    # Needs Triton.
    from workers.models.decoder.gpu.decoder import CapturedDecoder

    return CapturedDecoder(model, tokenizer)


def decode_texts(tokenizer: Any, ends: Set[int], answers: Sequence[list[int]]) -> list[Completion]:
    """Return the answers of these tokens and their texts. Equal ones, which a population has, are decoded once."""
    distinct = list({tuple(tokens) for tokens in answers})
    texts = tokenizer.batch_decode(distinct, skip_special_tokens=True) if distinct else []
    text = dict(zip(distinct, texts, strict=True))
    return [Completion(tokens, text[tuple(tokens)], tokens[-1] not in ends) for tokens in answers]


def end_tokens(model: Any, tokenizer: Any) -> Tensor:
    """Return the tokens [E] after which a response is over: the generation config's, else the tokenizer's."""
    ends = getattr(model.generation_config, "eos_token_id", None)
    ends = tokenizer.eos_token_id if ends is None else ends
    return torch.tensor([ends] if isinstance(ends, int) else ends or [-1], device=model.device)


def _known_shape(model: Any) -> Shape | None:
    try:
        return shape_of(model)
    except UnknownShape as reason:
        if str(reason) not in _logged_reasons:
            logger.warning("Decoder does not know this model; transformers decodes member by member: %s", reason)
            _logged_reasons.add(str(reason))
        return None


def _shifted(choose: Choose, by: int) -> Choose:
    return lambda logits, places, number: choose(logits, places + by, number)
