"""How exactly a GRPO run goes on from a checkpoint, in words.

The checkpoint holds weights, optimiser, schedule, loss scale, random streams, the place in the run's list of prompts
and the completions in use. What else a run carries from step to step, TRL keeps to itself: it is named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import trl

CARRIED = {
    "use_vllm": "vLLM draws completions from random streams of its own",
    "sync_ref_model": "the reference model starts again as the base model, TRL keeps no copy of it",
    "use_adaptive_entropy": "the entropy coefficient starts again at its first value",
}


def inexact(arguments: trl.GRPOConfig) -> Iterator[str]:
    """Why a run with these arguments does not go on bit for bit; nothing where it does."""
    yield from (why for name, why in CARRIED.items() if getattr(arguments, name))
    if arguments.device.type != "cpu":
        yield "a GPU's kernels add up in no fixed order"


def resumed(step: int, reasons: Sequence[str]) -> str:
    """What a person reads as the run goes on."""
    if reasons:
        return f"goes on from step {step}, but not bit for bit: {'; '.join(reasons)}."
    return (
        f"goes on from step {step} exactly: weights, optimiser, schedule, random streams, prompts and the completions "
        "in use are those of the checkpoint. On the same machine with the same number of cores the run ends with the "
        "bits of one that was never stopped. Averages that TRL logs over several steps begin anew."
    )
