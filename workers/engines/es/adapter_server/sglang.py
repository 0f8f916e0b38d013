"""Routes of SGLang's own server. It must run with --enable-lora and --disable-radix-cache.

An adapter is chosen by `lora_path`: its name in `model` would silently give the base model. Samples have no seed there:
SGLang takes one only in its deterministic mode.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workers.engines.es.adapter_server.connection import Connection
from workers.engines.es.adapter_server.lookup import ServerRefused
from workers.engines.es.adapter_server.protocol import (
    TOP_TOKENS,
    UNLOAD_SECONDS,
    Ids,
    Sampling,
    check_likeliest,
    check_responses,
    field,
    number_field,
    refuse_unfinished,
)


class SglangServer:
    """An SGLang server, which serves one base model."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def adapters(self) -> list[str]:
        models = field(self._connection.get("/v1/models"), "data")
        return [str(field(model, "id")) for model in models if model.get("parent")]

    def load(self, name: str, folder: Path) -> None:
        self._change("/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)}, None)

    def unload(self, name: str) -> None:
        self._change("/unload_lora_adapter", {"lora_name": name}, UNLOAD_SECONDS)

    def generate(self, name: str, prompts: Ids, sampling: Sampling) -> list[list[int]]:
        results = self._generate(name, prompts, sampling, {})
        return check_responses([_tokens(result) for result in results], len(prompts), sampling)

    def likeliest(self, name: str, prompts: Ids) -> list[dict[int, float]]:
        body = {"return_logprob": True, "top_logprobs_num": TOP_TOKENS}
        results = self._generate(name, prompts, Sampling(1, ()), body)
        pairs = (_pairs(field(result, "meta_info", "output_top_logprobs", 0)) for result in results)
        return check_likeliest((dict(of_prompt) for of_prompt in pairs), len(prompts))

    def _generate(self, name: str, prompts: Ids, sampling: Sampling, more: dict[str, Any]) -> Sequence[Any]:
        settings = {
            "max_new_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature or 0.0,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            # With ignore_eos, SGLang would ignore these too.
            "stop_token_ids": list(sampling.ends),
        }
        ids = [list(prompt) for prompt in prompts]
        reply = self._connection.post(
            "/generate", {"input_ids": ids, "sampling_params": settings, "lora_path": name, **more}
        )
        return reply if isinstance(reply, list) else [reply]

    def _change(self, path: str, body: dict[str, Any], seconds: float | None) -> None:
        text = self._connection.post_text(path, body, seconds)
        try:
            reply = json.loads(text)
        except ValueError:
            reply = None
        if not (isinstance(reply, dict) and reply.get("success")):
            raise ServerRefused(f"did not report success at {path}")


def _tokens(result: Any) -> list[int]:
    """Return the tokens of a response through its end token, which some versions leave out."""
    reason = field(result, "meta_info", "finish_reason")
    refuse_unfinished(field(reason, "type"))
    tokens, matched = list(field(result, "output_ids")), reason.get("matched")
    return [*tokens, matched] if type(matched) is int and tokens[-1:] != [matched] else tokens


def _pairs(entries: Any) -> Iterator[tuple[int, float]]:
    """Yield (token id, log-probability) from SGLang's [log-probability, token id, text]."""
    for entry in entries:
        yield int(number_field(entry, 1)), float(number_field(entry, 0))
