"""An engine of vLLM's program where this project's decoder answers in place of vLLM, which CPUs here do not have.

The messages and the loop are the program's own. ENGINE_FAULT makes it fail: `die N` and `hang N` with the N-th member,
`lie` in its scores, `skip` with one member too few, `never` to be ready.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from workers.config import RunConfig
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.engine_group import program as decoder_program
from workers.engines.es.engine_group.wire import Decoding, Ids, Saving
from workers.engines.es.vllm import program
from workers.models.decoder import Completion, Decoder

FAULT = "ENGINE_FAULT"
LIKELIEST = 20
Send = Callable[[list[Completion]], None]


class DecoderEngine:
    """The interface of `VllmBackEnd`, by the back end of an engine that decodes here."""

    def __init__(self, backend: DecoderBackEnd, tokenizer: Any, fault: str, times: int) -> None:
        self._backend, self._decoder = backend, Decoder(backend.model, tokenizer)
        self._fault, self._left = fault, times
        self.phases = backend.phases

    def answer(self, seeds: Sequence[int], prompts: Ids, send: Send, is_abandoned: Callable[[], bool]) -> None:
        if not seeds:
            send(_without_texts(self._backend.answer_centre(prompts)))
        for seed in seeds:
            self._fail()
            if is_abandoned() or self._fault == "skip":
                return
            (responses,) = self._backend.answer([seed], prompts)
            if is_abandoned():
                return
            send(_without_texts(responses))

    def generate(self, prompts: Ids, decoding: Decoding, send: Send, is_abandoned: Callable[[], bool]) -> bool:
        if decoding.temperature is None:
            responses = self._decoder.greedy(prompts, decoding.max_new_tokens)
        else:
            responses = self._decoder.sample(prompts, decoding.max_new_tokens, decoding.temperature, decoding.seed)
        if is_abandoned():
            return False
        send(_without_texts(responses))
        return True

    def score(self, prompts: Ids) -> list[dict[int, float]]:
        tops = self._decoder.last_logits(prompts).float().log_softmax(-1).topk(LIKELIEST)
        values = tops.values + torch.linspace(1, -1, LIKELIEST) if self._fault == "lie" else tops.values
        rows = zip(tops.indices.tolist(), values.tolist(), strict=True)
        return [dict(zip(ids, logarithms, strict=True)) for ids, logarithms in rows]

    def update(self, directions: Mapping[int, float], decay: float) -> tuple[float, float | None]:
        norm = self._backend.update(directions, decay)
        return norm, self._backend.anchor_distance()

    def weights_hash(self) -> str:
        return self._backend.weights_hash()

    def save(self, saving: Saving) -> None:
        if saving.what == "weights":
            tensors = {name: p.detach() for name, p in self._backend.model.named_parameters()}
            save_file(tensors, Path(saving.folder) / "model.safetensors", {"format": "pt"})
        else:
            self._backend.save(Path(saving.folder))

    def _fail(self) -> None:
        self._left -= 1
        if self._left == 0 and self._fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._left == 0 and self._fault == "hang":
            signal.pause()


def _without_texts(responses: Sequence[Completion]) -> list[Completion]:
    """Return the responses as vLLM's engine sends them: the training process makes the texts."""
    return [Completion(list(response.tokens), "", response.clipped) for response in responses]


def _load(start: Mapping[str, Any]) -> tuple[DecoderEngine, str]:
    """Load as an engine that decodes here does, and as it would for es.backend native."""
    if os.environ.get(FAULT) == "never":
        signal.pause()
    config = start["config"] | {"es": start["config"]["es"] | {"backend": "native"}}
    backend, lineage = decoder_program._load(RunConfig.from_json(config), start)
    fault, _, times = os.environ.get(FAULT, "").partition(" ")
    return DecoderEngine(backend, backend._decoder.tokenizer, fault, int(times or 0)), lineage


if __name__ == "__main__":
    program._check_version = lambda: None
    program._load = _load  # type: ignore[assignment]
    program.main(int(sys.argv[1]))
