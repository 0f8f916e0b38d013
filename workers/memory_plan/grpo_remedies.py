"""Changes of a GRPO run with which it fits a GPU. Each is planned like the run itself, and listed only if it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from workers.config import EvaluationConfig, GrpoConfig
from workers.config.es import BaseLoraConfig
from workers.memory_plan.card import CardPlan, Remedy
from workers.memory_plan.grpo import gb_text, plan_grpo
from workers.memory_plan.plan import ModelSizes

MAX_GPUS = 64
"""GPUs that a remedy names at most."""
MIN_LENGTH = 64
"""Tokens of a completion below which a remedy does not go."""
LORA = "train a LoRA adapter of rank %(rank)s, grpo.lora (%(gb)s GB)"
FSDP = "shard over %(gpus)s GPUs with grpo.sharding fsdp (%(gb)s GB each)"
CHECKPOINTING = "use grpo.gradient_checkpointing (%(gb)s GB)"
MICRO_BATCH = (
    "use grpo.per_device_train_batch_size %(batch)s and grpo.gradient_accumulation_steps %(steps)s, which update "
    "alike (%(gb)s GB)"
)
SLEEP = "let vLLM free its memory in updates with grpo.vllm.sleep (%(gb)s GB)"
SHORTER = "generate at most %(tokens)s tokens, grpo.max_completion_length (%(gb)s GB)"
FSDP_CHECKPOINTING = (
    "shard over %(gpus)s GPUs with grpo.sharding fsdp, and use grpo.gradient_checkpointing (%(gb)s GB each)"
)
LORA_CHECKPOINTING = (
    "train a LoRA adapter of rank %(rank)s, grpo.lora, with grpo.gradient_checkpointing and "
    "grpo.per_device_train_batch_size %(batch)s, grpo.gradient_accumulation_steps %(steps)s (%(gb)s GB)"
)
NONE_FITS = "no adapter, sharding or gradient checkpointing makes it fit; use a smaller model or a larger GPU"
TEMPLATES = (LORA, FSDP, CHECKPOINTING, MICRO_BATCH, SLEEP, SHORTER, FSDP_CHECKPOINTING, LORA_CHECKPOINTING)
Change = tuple[str, Mapping[str, int], GrpoConfig, int]
"""Template, its values, settings, processes."""


def find_remedies(
    sizes: ModelSizes,
    grpo: GrpoConfig,
    evaluation: EvaluationConfig,
    *,
    world: int,
    per_gpu_card: int,
    prompt_tokens: int,
) -> list[Remedy]:
    """Return the changes with which each phase fits the card; none if the model is too large for it.

    They are changes of one setting; and of several together, if of those only an adapter fits, or none. Of changes in
    one direction, such as more GPUs, only the smallest one is returned.
    """
    plan = partial(plan_grpo, sizes, evaluation=evaluation, per_gpu_card=per_gpu_card, prompt_tokens=prompt_tokens)

    def fitting(*directions: Iterator[Change]) -> Iterator[Remedy]:
        for direction in directions:
            for template, values, changed, processes in direction:
                fitted = plan(grpo=changed, world=processes)
                if fitted.fits:
                    yield Remedy(template, {**values, "gb": gb_text(fitted.needed)}, fitted)
                    break

    single = list(fitting(*_single_changes(grpo, world)))
    checkpointing = replace(grpo, gradient_checkpointing=True)
    sharded = fitting(_sharded(FSDP_CHECKPOINTING, checkpointing, world))
    adapter = fitting(_smaller_adapter_batches(checkpointing, world))
    is_whole = any(remedy.template != LORA for remedy in single)
    return [*single, *([] if is_whole else sharded), *([] if single else adapter)]


def with_remedies(plan: CardPlan, remedies: Sequence[Remedy]) -> CardPlan:
    """Return a plan that does not fit with the changes with which it does, which end its reason."""
    *others, last = [remedy.describe() for remedy in remedies] or [NONE_FITS]
    reason = f"{plan.reason}: {', '.join(others)}{', or ' if others else ''}{last}"
    return replace(plan, reason=reason, remedies=tuple(remedies))


def _single_changes(grpo: GrpoConfig, world: int) -> Iterator[Iterator[Change]]:
    """Yield the changes of one setting, those of one direction together."""
    if grpo.lora is None:
        lora = BaseLoraConfig()
        yield iter([(LORA, {"rank": lora.rank}, replace(grpo, lora=lora), world)])
    yield _sharded(FSDP, grpo, world)
    if not grpo.gradient_checkpointing:
        yield iter([(CHECKPOINTING, {}, replace(grpo, gradient_checkpointing=True), world)])
    yield _smaller_micro_batches(MICRO_BATCH, grpo, world)
    if grpo.vllm is not None and grpo.vllm.mode == "colocate" and not grpo.vllm.sleep:
        yield iter([(SLEEP, {}, replace(grpo, vllm=replace(grpo.vllm, sleep=True)), world)])
    yield _shorter(grpo, world)


def _smaller_adapter_batches(grpo: GrpoConfig, world: int) -> Iterator[Change]:
    """Yield an adapter with half the micro batch, and so on."""
    lora = grpo.lora or BaseLoraConfig()
    for template, values, changed, processes in _smaller_micro_batches(
        LORA_CHECKPOINTING, replace(grpo, lora=lora), world
    ):
        yield template, {**values, "rank": lora.rank}, changed, processes


def _sharded(template: str, grpo: GrpoConfig, world: int) -> Iterator[Change]:
    """Yield fsdp over the run's GPUs, and over twice as many, and so on."""
    gpus = world if world > 1 and grpo.sharding != "fsdp" else 2 * world
    while gpus <= MAX_GPUS:
        yield template, {"gpus": gpus}, replace(grpo, sharding="fsdp"), gpus
        gpus *= 2


def _smaller_micro_batches(template: str, grpo: GrpoConfig, world: int) -> Iterator[Change]:
    """Yield half the micro batch in twice as many accumulation steps, and so on: the whole batch stays as it is."""
    batch, steps = grpo.per_device_train_batch_size, grpo.gradient_accumulation_steps
    while batch % 2 == 0:
        batch, steps = batch // 2, steps * 2
        changed = replace(grpo, per_device_train_batch_size=batch, gradient_accumulation_steps=steps)
        yield template, {"batch": batch, "steps": steps}, changed, world


def _shorter(grpo: GrpoConfig, world: int) -> Iterator[Change]:
    """Yield half the length of completions, and so on."""
    tokens = grpo.max_completion_length // 2
    while tokens >= MIN_LENGTH:
        yield SHORTER, {"tokens": tokens}, replace(grpo, max_completion_length=tokens), world
        tokens //= 2
