"""Routes of vLLM's OpenAI server. It must run with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True.

An adapter is chosen by its name in place of the model's. Every setting of the sampling is sent, because the server
takes missing ones from the model's generation config.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workers.engines.es.adapter_server.connection import Connection
from workers.engines.es.adapter_server.lookup import ServerLost, ServerRefused
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
from workers.engines.es.adapter_server.threads import map_in_threads
from workers.engines.es.seeds import sample_seed

NOT_FOUND = (
    "has no route to load adapters: start vLLM with --enable-lora and the environment variable "
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
)
INTERNAL_ERROR = 500
SAMPLES_AT_ONCE = 32
TOKEN = "token_id:"  # noqa: S105


class VllmServer:
    """A vLLM server. `model` is the base model's name there, empty for the first that it lists."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection = connection
        self._model = model

    def adapters(self) -> list[str]:
        """Return the names of loaded adapters. Raise ServerRefused if the server does not list the base model."""
        models = field(self._connection.get("/v1/models"), "data")
        bases = [str(field(model, "id")) for model in models if not model.get("parent")]
        if self._model and self._model not in bases:
            choices = ", ".join(bases) or "none"
            raise ServerRefused(f"serves no base model {self._model}; es.adapter_server.model must be one of {choices}")
        base = self._model or next(iter(bases), "")
        return [str(field(model, "id")) for model in models if base and model.get("parent") == base]

    def load(self, name: str, folder: Path) -> None:
        try:
            self._connection.post_text("/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})
        except ServerRefused as error:
            if '"detail":"Not Found"' in error.reply:
                raise ServerRefused(NOT_FOUND) from error
            raise
        except ServerLost as error:
            if error.status == INTERNAL_ERROR:
                # So vLLM refuses an adapter, such as one of a rank above --max-lora-rank.
                raise ServerRefused(str(error)) from error
            raise

    def unload(self, name: str) -> None:
        self._connection.post_text("/v1/unload_lora_adapter", {"lora_name": name}, UNLOAD_SECONDS)

    def generate(self, name: str, prompts: Ids, sampling: Sampling) -> list[list[int]]:
        if sampling.temperature is None:
            return self._complete(name, prompts, sampling, 0)
        # All prompts of a request share its seed, with which equal prompts would get equal samples.
        seeds = [sample_seed(sampling.seed, place) for place in range(len(prompts))]
        responses = map_in_threads(
            lambda place: self._complete(name, [prompts[place]], sampling, seeds[place]),
            range(len(prompts)),
            SAMPLES_AT_ONCE,
        )
        return [tokens for some in responses for tokens in some]

    def likeliest(self, name: str, prompts: Ids) -> list[dict[int, float]]:
        body = {"logprobs": TOP_TOKENS, "return_tokens_as_token_ids": True}
        choices = self._choices(name, prompts, Sampling(1, ()), body)
        return check_likeliest((_parse(field(c, "logprobs", "top_logprobs", 0)) for c in choices), len(prompts))

    def _complete(self, name: str, prompts: Ids, sampling: Sampling, seed: int) -> list[list[int]]:
        choices = self._choices(name, prompts, sampling, {"seed": seed, "return_token_ids": True})
        for choice in choices:
            refuse_unfinished(choice.get("finish_reason"))
        return check_responses([field(choice, "token_ids") for choice in choices], len(prompts), sampling)

    def _choices(self, name: str, prompts: Ids, sampling: Sampling, more: dict[str, Any]) -> Sequence[Any]:
        """Return the choices of a reply in the order of the prompts."""
        body = {
            "model": name,
            "prompt": [list(ids) for ids in prompts],
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature or 0.0,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            # The end tokens are those of this process, and no others.
            "ignore_eos": True,
            "stop_token_ids": list(sampling.ends),
            **more,
        }
        reply = self._connection.post("/v1/completions", body)
        return sorted(field(reply, "choices"), key=lambda choice: number_field(choice, "index"))


def _parse(tokens: Any) -> dict[int, float]:
    """Return token id -> log-probability from vLLM's names such as token_id:42."""
    try:
        return {int(name.removeprefix(TOKEN)): float(value) for name, value in tokens.items()}
    except (AttributeError, ValueError):
        raise ServerRefused("sent log-probabilities without token ids") from None
