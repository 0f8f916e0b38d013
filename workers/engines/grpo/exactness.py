"""Explains how exactly a GRPO run continues from a checkpoint.

The checkpoint holds weights, optimiser, schedule, loss scale, random streams, the position in the run's list of prompts
and the completions in use. Other state that TRL carries from step to step is not accessible: it is named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import trl

UNSAVED_STATE = {
    "use_vllm": "vLLM samples completions from its own random streams",
    "sync_ref_model": "the reference model is the base model again, because TRL saves no copy of it",
    "use_adaptive_entropy": "the entropy coefficient starts again at its initial value",
}


def inexact_reasons(arguments: trl.GRPOConfig) -> Iterator[str]:
    """Yield reasons why a run with these arguments does not continue bit for bit; nothing if it does."""
    yield from (reason for name, reason in UNSAVED_STATE.items() if getattr(arguments, name))
    if arguments.device.type != "cpu":
        yield "GPU kernels sum in no fixed order"


def resume_message(step: int, reasons: Sequence[str]) -> str:
    """Return the message for the user when the run resumes."""
    if reasons:
        return f"resumes from step {step}, but not bit for bit: {'; '.join(reasons)}."
    return (
        f"resumes exactly from step {step}: weights, optimiser, schedule, random streams, prompts and the completions "
        "in use are those of the checkpoint. On the same machine with the same number of cores, the run ends bit for "
        "bit like one that was never stopped. Averages that TRL logs over several steps start again."
    )
