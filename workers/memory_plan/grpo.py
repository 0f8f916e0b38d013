"""The memory that a GRPO run takes on a GPU, planned from the sizes of the model and the config, before its launch.

Parts of a plan, of which not all are held at the same time:

    master      trained weights or adapter, in float32
    frozen      weights that the optimizer does not change, under an adapter or of DeepSpeed
    gradients, optimizer, reference
    casts       weights that autocast has cast for a pass
    gathered    units that fsdp holds whole in a pass
    activations
    head        TRL's fused LM head
    generating  weights cast or gathered for a generation
    cache       keys and values
    sampling    one step of a generation
    vllm        vLLM's share
    centre      copies of the weights for an evaluation
    evaluation  everything else of it
    saving      weights merged or gathered for a checkpoint
    workspace   of matrix products and NCCL

Phases are generation, update, evaluation and checkpoint. The evaluation is on the first process only, which is planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workers.config import EvaluationConfig, GrpoConfig
from workers.memory_plan import grpo_parts as parts_of
from workers.memory_plan.card import CONTEXT_BYTES, SHARE, CardPlan
from workers.memory_plan.plan import GRAPH_BYTES, LOGITS_BYTES, ModelSizes, evaluation_bytes

NCCL_BYTES = 512 * 1024**2
"""Buffers of NCCL's channels in a run with several processes, outside torch's allocator; an assumption."""
CENTRE_PARTS = 50
"""A model of at most one such part of its GPU stays there between evaluations: copying it again, and capturing the
steps that answer, takes longer than an evaluation."""
FLOAT32 = parts_of.FLOAT32
STATE = ("master", "frozen", "optimizer", "reference", "workspace")
"""Parts that are held in all phases."""


def centre_stays(sizes: ModelSizes, per_gpu_card: int) -> bool:
    """Return whether a model is so small beside its GPU that its copy for evaluations stays there between them."""
    return CENTRE_PARTS * sizes.weight_bytes <= per_gpu_card


def gb_text(size: int) -> str:
    """Return bytes as a number of GB of 10⁹ bytes: whole from 10 GB on, with one decimal below."""
    return f"{size / 1e9:.0f}" if size >= 9.95e9 else f"{size / 1e9:.1f}"


def plan_grpo(
    sizes: ModelSizes,
    grpo: GrpoConfig,
    evaluation: EvaluationConfig,
    *,
    world: int,
    per_gpu_card: int,
    prompt_tokens: int,
) -> CardPlan:
    """Return the memory of a run of `world` processes, each on a GPU of `per_gpu_card` bytes.

    The longest prompt has `prompt_tokens` tokens.
    """
    parts = {
        **_state(sizes, grpo, world),
        **_update(sizes, grpo, prompt_tokens),
        **_generation(sizes, grpo, world, per_gpu_card, prompt_tokens),
        **_evaluation(sizes, grpo, evaluation, prompt_tokens),
        "workspace": GRAPH_BYTES + (NCCL_BYTES if world > 1 else 0),
    }
    phases, usable = _phases(sizes, grpo, world, per_gpu_card, parts), max(0, int(SHARE * per_gpu_card) - CONTEXT_BYTES)
    plan = CardPlan(card=per_gpu_card, usable=usable, parts=parts, phases=phases, processes=world)
    return plan if plan.needed <= usable else replace(plan, reason=f"it {describe_need(plan)}")


def describe_need(plan: CardPlan) -> str:
    """Return the need and the card in GB, to complete a sentence about the run."""
    needed, card, usable = gb_text(plan.needed), gb_text(plan.card), gb_text(plan.usable)
    return f"needs {needed} GB; this card has {card} GB, of which {usable} GB can be used"


def _phases(
    sizes: ModelSizes, grpo: GrpoConfig, world: int, per_gpu_card: int, parts: Mapping[str, int]
) -> dict[str, int]:
    """Return the peak of each phase."""
    state = sum(parts[name] for name in STATE)
    # DistributedDataParallel holds its buckets, which the gradients are views of, all the time.
    has_buckets = world > 1 and grpo.sharding == "none"
    held = state + (parts["gradients"] if has_buckets else 0)
    # What an evaluation of a small model leaves on the card.
    staying = parts["centre"] + parts["evaluation"] - LOGITS_BYTES if centre_stays(sizes, per_gpu_card) else 0
    awake = 0 if grpo.vllm is not None and grpo.vllm.sleep else parts["vllm"]
    # The first micro batch has no gradients before its backward pass, which frees its casts and activations.
    forward = parts["casts"] + parts["activations"] + parts["head"]
    if has_buckets or grpo.gradient_accumulation_steps > 1:
        forward += parts["gradients"]
    # The embedding has a gradient of its own before it is added to that of a tied head.
    embedding = FLOAT32 * sizes.table_numbers if sizes.is_tied and grpo.lora is None else 0
    return {
        "generation": held + staying + parts["vllm"] + parts["generating"] + parts["cache"] + parts["sampling"],
        "update": state + staying + awake + parts["gathered"] + max(forward, parts["gradients"] + embedding),
        "evaluation": held + awake + parts["centre"] + parts["evaluation"],
        "checkpoint": held + staying + awake + parts["saving"],
    }


def _state(sizes: ModelSizes, grpo: GrpoConfig, world: int) -> dict[str, int]:
    """Return the parts that last from step to step, and the gradients."""
    weights, lora, is_zero = sizes.weight_bytes, grpo.lora, grpo.sharding == "zero2"
    weight_shards = world if grpo.sharding == "fsdp" else 1
    state_shards = world if grpo.sharding != "none" else 1
    trained = parts_of.adapter_numbers(sizes, lora) if lora is not None else sizes.parameters
    return {
        # DeepSpeed trains float32 numbers that it divides, and computes with a whole copy in the working precision.
        "master": FLOAT32 * trained // (weight_shards if lora is not None else state_shards),
        "frozen": weights // weight_shards if lora is not None else weights if is_zero else 0,
        "gradients": FLOAT32 * trained // state_shards,
        "optimizer": parts_of.optimizer_bytes(grpo, trained) // state_shards,
        "reference": _reference_bytes(sizes, grpo, world),
    }


def _reference_bytes(sizes: ModelSizes, grpo: GrpoConfig, world: int) -> int:
    """Return the bytes of the reference model of the KL term: without its adapter, a model is its own reference."""
    if grpo.beta == 0 or grpo.lora is not None:
        return 0
    return sizes.weight_bytes // (world if grpo.sharding == "fsdp" else 1)


def _update(sizes: ModelSizes, grpo: GrpoConfig, prompt_tokens: int) -> dict[str, int]:
    """Return the parts of the passes over one micro batch."""
    is_lora, length = grpo.lora is not None, grpo.max_completion_length
    head = parts_of.head_bytes(sizes, grpo.per_device_train_batch_size * length, is_lora=is_lora)
    if grpo.sharding == "zero2" and not is_lora:
        head += sizes.number_bytes * min(parts_of.ZERO_BUCKET, sizes.parameters)
    return {
        "casts": _layer_bytes(sizes) if _has_casts(sizes, grpo) else 0,
        "gathered": parts_of.gathered_bytes(sizes, is_lora=is_lora) if grpo.sharding == "fsdp" else 0,
        "activations": parts_of.activation_bytes(sizes, grpo, prompt_tokens + length),
        "head": head,
    }


def _generation(sizes: ModelSizes, grpo: GrpoConfig, world: int, card: int, prompt_tokens: int) -> dict[str, int]:
    """Return the parts of a generation, by the trained model, or by vLLM, which gets shards matrix by matrix."""
    is_fsdp = grpo.sharding == "fsdp"
    if grpo.vllm is not None:
        vllm = int(grpo.vllm.gpu_memory_utilization * card) if grpo.vllm.mode == "colocate" else 0
        sent = FLOAT32 * sizes.table_numbers if is_fsdp else 0
        return {"generating": sent, "cache": 0, "sampling": 0, "vllm": vllm}
    rows = parts_of.generation_rows(grpo, world)
    weights = sizes.weight_bytes
    # The reference is gathered for its pass over the completions, and the model is still whole then.
    generating = weights * (2 if grpo.beta else 1) if is_fsdp else 0
    if _has_casts(sizes, grpo):
        generating = _layer_bytes(sizes) + sizes.number_bytes * sizes.table_numbers
    return {
        "generating": generating,
        "cache": parts_of.cache_bytes(sizes, rows, prompt_tokens + grpo.max_completion_length),
        "sampling": parts_of.sampling_bytes(sizes, rows, prompt_tokens),
        "vllm": 0,
    }


def _evaluation(
    sizes: ModelSizes, grpo: GrpoConfig, evaluation: EvaluationConfig, prompt_tokens: int
) -> dict[str, int]:
    """Return the parts of an evaluation, and of a checkpoint: it merges an adapter as an evaluation does, and gathers
    shards one matrix at a time."""
    weights, is_lora = sizes.weight_bytes, grpo.lora is not None
    # The reference of the KL is TRL's if there is one that is whole.
    has_reference = grpo.beta > 0 and not is_lora and grpo.sharding != "fsdp"
    matrix = FLOAT32 * sizes.table_numbers if grpo.sharding == "fsdp" else 0
    centre = weights * (1 + (not has_reference))
    return {
        "centre": centre,
        "evaluation": evaluation_bytes(
            sizes, evaluation, longest_prompt=prompt_tokens, max_new_tokens=grpo.max_completion_length
        ),
        "saving": centre if is_lora else matrix,
    }


def _has_casts(sizes: ModelSizes, grpo: GrpoConfig) -> bool:
    """Return whether autocast casts the float32 weights: an adapter's base and sharded weights are cast already."""
    return sizes.number_bytes < FLOAT32 and grpo.lora is None and grpo.sharding == "none"


def _layer_bytes(sizes: ModelSizes) -> int:
    """Return the bytes of all layers' matrices in the working precision."""
    return sizes.number_bytes * sizes.layers * sizes.layer_numbers
