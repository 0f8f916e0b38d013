"""The memory of a run with es.backend vllm, planned from the sizes of the model, the config and the GPU.

Each engine holds its weights, a float32 master (on the GPU, or in the machine's memory), θ₀ if the run decays towards
it, and keys and values. The training process holds the model twice, as trained and as it was, to measure the KL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from workers.config import EsConfig
from workers.memory_plan.card import SHARE, CardPlan

ENGINES_PER_GPU = 3
"""More engines on a GPU answer no faster: measured on an H100 with a model of 1.5 billion parameters."""
ENGINE_BYTES = 3 * 1024**3
"""Bytes of an engine's CUDA context, captured graphs and activations."""
ROW_BYTES = 12
"""Bytes per row and token of the vocabulary: logits in float32 and two copies, as vLLM picks the next tokens."""
KL_BYTES = 3 * 1024**3
"""Bytes of the training process's CUDA context and of both models' logits."""
MAX_ROWS = 1024
MIN_ROWS = 16
"""Responses whose keys and values must fit together at least."""


@dataclass(frozen=True)
class Sizes:
    """Sizes in bytes of a model and of a response: all weights, all weights in float32, keys and values of a token."""

    weights: int
    master: int
    token: int
    vocabulary: int


NO_KL = (
    "evaluations of this run measure no KL: the model does not fit into the GPU twice more, next to vLLM's engines. "
    "Setting es.vllm.master to host, fewer es.engines or a larger GPU may make room"
)


def plan_memory(sizes: Sizes, es: EsConfig, *, card: int, per_gpu: int, prompts: int, context_tokens: int) -> CardPlan:
    """Return the plan for a GPU of `card` bytes, or the first one of each group of es.vllm.tensor_parallel GPUs.
    `per_gpu` engines share it; 0 means as many as fit.

    A plan with the KL and the master on the GPU is preferred, then one without the KL, then the master on the host;
    each with as many engines as fit. If none fits, the plan has the least bytes that are needed, and a reason.
    """
    rows, usable = min(prompts, MAX_ROWS), int(SHARE * card)
    counts = [per_gpu] if per_gpu else range(ENGINES_PER_GPU, 0, -1)
    for on_host, with_kl, count in product(_places(es), (True, False), counts):
        kl = 2 * sizes.weights + KL_BYTES if with_kl else 0
        fixed = _fixed(sizes, es, rows, on_host=on_host)
        if (chosen := _choose((usable - kl) // count - fixed, sizes, es, rows, context_tokens)) is not None:
            plan = CardPlan(
                card=card, usable=usable, parts={"engines": count * (fixed + chosen), "kl": kl}, engines=count,
                rows=rows, kv_cache_bytes=chosen, master_on_host=on_host, with_kl=with_kl,
            )  # fmt: skip
            return replace(plan, summary=_describe(plan, es.vllm.tensor_parallel))
    engine = _fixed(sizes, es, rows, on_host=es.vllm.master != "gpu") + _least(sizes, rows, context_tokens)
    plan = CardPlan(card=card, usable=usable, parts={"engines": engine * (per_gpu or 1)}, engines=0)
    reason = (
        f"is vllm, and {per_gpu or 1} of its engines on a GPU need at least {plan.needed_gb:.1f} GB; "
        f"here are {plan.usable_gb:.1f} GB. A larger es.vllm.tensor_parallel, es.vllm.master host, shorter "
        "responses or a smaller model need less"
    )
    return replace(plan, reason=reason)


def _describe(plan: CardPlan, tensor_parallel: int) -> str:
    """Describe the plan of engines of so many GPUs each in a sentence."""
    shared = "GPU" if tensor_parallel == 1 else f"group of {tensor_parallel} GPUs"
    place = "in the machine's memory" if plan.master_on_host else "on the GPU"
    return (
        f"{plan.engines} engine{'s' if plan.engines > 1 else ''} of vLLM per {shared}, each with up to {plan.rows} "
        f"responses at once, {plan.kv_cache_bytes / 1e9:.2g} GB of keys and values per GPU, and its float32 master "
        f"{place}"
    )


def _places(es: EsConfig) -> Iterator[bool]:
    """Yield whether the master may be on the host, the preferred place first."""
    if es.vllm.master != "host":
        yield False
    if es.vllm.master != "gpu":
        yield True


def _fixed(sizes: Sizes, es: EsConfig, rows: int, *, on_host: bool) -> int:
    """Return the bytes of an engine on each of its GPUs, without keys and values."""
    anchor = sizes.weights if es.anchor_decay else 0
    held = sizes.weights + (0 if on_host else sizes.master + anchor)
    return held // es.vllm.tensor_parallel + ENGINE_BYTES + ROW_BYTES * rows * sizes.vocabulary


def _choose(free: int, sizes: Sizes, es: EsConfig, rows: int, context_tokens: int) -> int | None:
    """Return the bytes for keys and values on each GPU, or None if `free` is too little."""
    if es.vllm.kv_cache_gb:
        fixed = int(es.vllm.kv_cache_gb * 1e9)
        return fixed if fixed <= free else None
    wanted = _key_bytes(sizes, rows, context_tokens) // es.vllm.tensor_parallel
    return min(free, wanted) if free >= _least(sizes, rows, context_tokens) // es.vllm.tensor_parallel else None


def _least(sizes: Sizes, rows: int, context_tokens: int) -> int:
    return _key_bytes(sizes, min(rows, MIN_ROWS), context_tokens)


def _key_bytes(sizes: Sizes, rows: int, context_tokens: int) -> int:
    """Return the bytes of keys and values of so many whole responses; vLLM stores them in blocks of 16 tokens."""
    return (rows + 1) * (context_tokens + 16) * sizes.token
