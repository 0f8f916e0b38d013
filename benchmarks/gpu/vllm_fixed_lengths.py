"""The program of an engine of vLLM, with a number of tokens for each prompt's response instead of one for all.

    python -m benchmarks.gpu.vllm_fixed_lengths FILE_DESCRIPTOR

The environment variable LENGTHS has the numbers as JSON. Responses have them exactly if the engine knows no end tokens.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workers.engines.es.engine_group.wire import Decoding
from workers.engines.es.vllm import program

LENGTHS = "ESWEB_BENCHMARK_LENGTHS"
_load = program._load


def _load_with_lengths(start: Mapping[str, Any]) -> Any:
    """Change vLLM's requests, once the program has set the environment in which vLLM may be imported."""
    from workers.engines.es.vllm.generation import Generator

    lengths, with_one_length = json.loads(os.environ[LENGTHS]), Generator._parameters

    def with_own_length(self: Generator, decoding: Decoding, index: int, logprobs: int | None = None) -> Any:
        return with_one_length(self, replace(decoding, max_new_tokens=lengths[index]), index, logprobs)

    Generator._parameters = with_own_length  # type: ignore[method-assign]
    return _load(start)


def _keep_weights() -> None:
    """Let vLLM leave its parameters as they are on a CPU too, where it would pack them elsewhere."""
    from vllm import _custom_ops

    _custom_ops._supports_onednn = False


if __name__ == "__mp_main__":
    # A process that vLLM has spawned: its worker on a CPU, or one of several GPUs.
    _keep_weights()
if __name__ == "__main__":
    program._load = _load_with_lengths
    program.main(int(sys.argv[1]))
