"""The environment variables of every process that runs vLLM. No torch."""

from __future__ import annotations

from collections.abc import Mapping

VLLM_VARIABLES: Mapping[str, str] = {
    # Its sampler needs a compiler on the machine.
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    # vLLM would report its use to its makers.
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
"""Variables to set before an engine of vLLM starts."""
