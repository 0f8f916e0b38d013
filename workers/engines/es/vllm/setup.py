"""The settings of an engine of vLLM beyond those of every engine, as the START message carries them under `vllm`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workers.preflight.vllm_interpreter import VLLM_VARIABLES

VLLM_VERSION = "0.22.1"
"""The only version that the engines accept: they use parts of vLLM that change between releases."""

ENVIRONMENT = {
    **VLLM_VARIABLES,
    # The engine itself steps through the requests, in this process.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # A forked worker would keep the connection open after the engine's end.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "HF_HUB_OFFLINE": "1",
}
"""The environment of an engine: vLLM reads it while it is imported."""


@dataclass(frozen=True)
class VllmSetup:
    """Weights, end tokens and memory of an engine.

    `names`: canonical names of the trained parameters, a tied one once. `ends`: tokens after which a response is over.
    `context_tokens`: the longest prompt and its response. `rows`: responses that are written at once.
    `kv_cache_bytes`: keys and values on each GPU; with `tensor_parallel` GPUs, each holds its part of the heads.
    """

    names: tuple[str, ...]
    dtype: str
    ends: tuple[int, ...]
    context_tokens: int
    rows: int
    kv_cache_bytes: int
    master_on_host: bool
    tensor_parallel: int

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> VllmSetup:
        """Return what `dataclasses.asdict` made, after JSON."""
        return cls(**{**data, "names": tuple(data["names"]), "ends": tuple(data["ends"])})
