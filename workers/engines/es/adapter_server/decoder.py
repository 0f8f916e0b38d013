"""Responses of the centre from the server, for evaluations; in place of `workers.models.decoder.Decoder`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workers.engines.es.adapter_server.protocol import Sampling
from workers.models.decoder import Completion, Decoder, Prompt

Respond = Callable[[Sequence[Sequence[int]], Sampling], list[list[int]]]
"""(token ids of prompts, sampling) -> token ids of the centre's responses."""


class ServerDecoder:
    """Writes responses of the centre on the server. Texts are made of tokens by the decoder of this process."""

    is_captured = False

    def __init__(self, decoder: Decoder, respond: Respond) -> None:
        self._decoder = decoder
        self._respond = respond
        self._ends = tuple(decoder.ends.tolist())

    def greedy(self, prompts: Sequence[Prompt], max_new_tokens: int) -> list[Completion]:
        """Return the likeliest response, token by token, to each prompt. Raise AdapterServerFailed."""
        return self._completions(prompts, Sampling(max_new_tokens, self._ends))

    def sample(self, prompts: Sequence[Prompt], max_new_tokens: int, temperature: float, seed: int) -> list[Completion]:
        """Return responses sampled at `temperature`. Raise AdapterServerFailed.

        On vLLM the samples depend on the seed and the prompt's position alone; SGLang does not take the seed.
        """
        return self._completions(prompts, Sampling(max_new_tokens, self._ends, temperature, seed))

    def _completions(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        return self._decoder.completions(self._respond(self._decoder.tokens(prompts), sampling))
