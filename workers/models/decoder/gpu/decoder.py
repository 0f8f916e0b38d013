"""A decoder for evaluations on a GPU: captured steps of one size, so that a response depends on nothing but its prompt.

Products of matrices round by the number of their rows. Here every step that answers has ROWS rows and every step that
reads READ_ROWS, whether they hold a response or not, and no kernel lets a row see another. So the response to a prompt
follows from the weights, the prompt and, for a sample, its draws: other prompts, their number, their order and the room
for keys and values change nothing. Evaluations of ES, of GRPO and of a saved model agree, to the bit, on equal cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workers.memory_plan import EVALUATED_READ_ROWS, EVALUATED_ROWS, evaluated_responses
from workers.models.decoder.decoder import Completion, Decoder, Prompt
from workers.models.decoder.gpu.batch import ContinuousBatch, Query, Sampling, common_beginning, slots_for
from workers.models.decoder.gpu.captured import CapturedStep
from workers.models.decoder.gpu.step import Sizes, Step, rotary_tables
from workers.models.decoder.gpu.weights import JoinedWeights
from workers.models.decoder.loop import draws

ROWS, READ_ROWS = EVALUATED_ROWS, EVALUATED_READ_ROWS
GRAIN = 16
"""Tokens by which buffers grow. Triton compiles a kernel once for all multiples of 16."""


@dataclass(frozen=True)
class _Room:
    """Responses that may be written together, and the tokens of each with and without its prompt."""

    responses: int = 0
    columns: int = 0
    max_new: int = 0

    def grown(self, other: _Room) -> _Room:
        """Return the smallest room that holds both."""
        return _Room(
            max(self.responses, other.responses), max(self.columns, other.columns), max(self.max_new, other.max_new)
        )


class CapturedDecoder(Decoder):
    """A `Decoder` whose responses are written by captured steps. The model's tensors are joined, at new addresses.

    `weights` are the model's, if they are joined already. Buffers are made when the first prompts come, and made again
    for longer ones. Raise UnknownShape.
    """

    is_captured = True

    def __init__(self, model: Any, tokenizer: Any, weights: JoinedWeights | None = None) -> None:
        super().__init__(model, tokenizer)
        self._shape, self._weights = self.known_shape(), weights
        self._room = _Room()
        self._batch: ContinuousBatch | None = None

    def greedy(self, prompts: Sequence[Prompt], max_new_tokens: int) -> list[Completion]:
        return self._respond(self.tokens(prompts), max_new_tokens, None)

    def sample(self, prompts: Sequence[Prompt], max_new_tokens: int, temperature: float, seed: int) -> list[Completion]:
        uniform = draws(len(prompts), max_new_tokens, seed, self.ends.device)
        return self._respond(self.tokens(prompts), max_new_tokens, Sampling(temperature, uniform))

    @torch.no_grad()
    def _respond(self, ids: Sequence[Sequence[int]], max_new: int, sampling: Sampling | None) -> list[Completion]:
        if not ids:
            return []
        batch = self._batch_for(ids, max_new)
        queue = [Query(0, own, max_new) for own in ids]
        tokens: dict[int, list[int]] = {}
        for some in batch.answers([queue], common_beginning(ids), sampling=sampling):
            tokens.update((answer.index, answer.tokens) for answer in some)
        return self.completions([tokens[index] for index in range(len(ids))])

    def _batch_for(self, ids: Sequence[Sequence[int]], max_new: int) -> ContinuousBatch:
        """Return a batch with room for such prompts and responses, and with the model's tensors of this moment."""
        parameters = dict(self.model.named_parameters())
        columns = _rounded(max(map(len, ids)) + max_new)
        room = self._room.grown(_Room(min(ROWS, len(ids)), columns, _rounded(max_new)))
        if self._weights is None or not self._weights.holds(parameters):
            self._weights, self._batch = JoinedWeights(parameters, self._shape), None
        if self._batch is None or room != self._room:
            self._batch = None
            self._batch, self._room = self._make_batch(self._weights, room), room
        return self._batch

    def _make_batch(self, weights: JoinedWeights, room: _Room) -> ContinuousBatch:
        shape = self._shape
        tables = rotary_tables(shape, self.model.model.rotary_emb, room.columns, weights.tensors[shape.embed])
        responses = evaluated_responses(room.responses, room.columns * self._token_bytes())
        sizes = Sizes(ROWS, READ_ROWS, slots_for(responses, 1), room.columns, room.max_new, samples=True)
        step = Step(shape, weights, None, tables, self.ends, sizes)
        return ContinuousBatch(CapturedStep(step, is_fixed=True), 1, self.measure, responses)

    def _token_bytes(self) -> int:
        """Return the bytes of a token's keys and values."""
        shape = self._shape
        return len(shape.layers) * 2 * shape.kv_heads * shape.head_dim * int(self.model.lm_head.weight.element_size())


def _rounded(tokens: int) -> int:
    return -(-tokens // GRAIN) * GRAIN
