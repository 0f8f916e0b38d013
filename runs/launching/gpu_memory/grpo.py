"""The plan of a GRPO run in the language of the page: its parts, its phases, and the changes with which it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from workers.memory_plan import Remedy
from workers.preflight import GrpoCardPlan

PARTS = {
    "master": _("Trained weights, float32"),
    "frozen": _("Weights that are not trained"),
    "gradients": _("Gradients"),
    "optimizer": _("Optimizer"),
    "reference": _("Reference model of the KL term"),
    "casts": _("Weights cast for an update"),
    "gathered": _("Shards gathered for an update"),
    "activations": _("Activations of an update"),
    "head": _("LM head: logits and gradients of an update"),
    "generating": _("Weights cast or gathered for generation"),
    "cache": _("Key-value cache of a generation"),
    "sampling": _("Logits of one generated token per completion"),
    "vllm": _("vLLM: weights and key-value cache"),
    "centre": _("Copies of the weights for an evaluation"),
    "evaluation": _("Responses of an evaluation"),
    "saving": _("Weights merged or gathered for a checkpoint"),
    "workspace": _("Buffers of matrix products and NCCL"),
}
"""Field of `workers.memory_plan.grpo.Parts` -> label."""
PHASES = {
    "generation": _("Generation"),
    "update": _("Update"),
    "evaluation": _("Evaluation"),
    "checkpoint": _("Checkpoint"),
}
"""Field of `workers.memory_plan.grpo.Phases` -> label."""
REMEDIES = (
    _("train a LoRA adapter of rank %(rank)s, grpo.lora (%(gb)s GB)"),
    _("shard over %(gpus)s GPUs with grpo.sharding fsdp (%(gb)s GB each)"),
    _("use grpo.gradient_checkpointing (%(gb)s GB)"),
    _(
        "use grpo.per_device_train_batch_size %(batch)s and grpo.gradient_accumulation_steps %(steps)s, which update "
        "alike (%(gb)s GB)"
    ),
    _("let vLLM free its memory in updates with grpo.vllm.sleep (%(gb)s GB)"),
    _("generate at most %(tokens)s tokens, grpo.max_completion_length (%(gb)s GB)"),
    _("shard over %(gpus)s GPUs with grpo.sharding fsdp, and use grpo.gradient_checkpointing (%(gb)s GB each)"),
    _(
        "train a LoRA adapter of rank %(rank)s, grpo.lora, with grpo.gradient_checkpointing and "
        "grpo.per_device_train_batch_size %(batch)s, grpo.gradient_accumulation_steps %(steps)s (%(gb)s GB)"
    ),
)
"""Templates of `workers.memory_plan.grpo_remedies`, marked for translation."""


@dataclass(frozen=True)
class CardRemedies:
    """The changes with which a run fits a card of `gb` GB, as imperatives; none if the model is too large for it."""

    gb: int
    needed_gb: float
    usable_gb: float
    sentences: list[str]


def describe_remedy(remedy: Remedy) -> str:
    """Return the change as an imperative, such as "use grpo.gradient_checkpointing (40 GB)"."""
    return gettext(remedy.template) % remedy.values


def describe_reason(card: GrpoCardPlan) -> str:
    """Return why the run does not fit this card, and the changes with which it does; an empty text if it fits."""
    if card.fits:
        return ""
    needs = gettext("The run needs %(needed)s GB; this card has %(card)s GB, of which %(usable)s GB can be used.")
    sizes = {"needed": f"{card.needed_gb:.1f}", "card": f"{card.gb:g}", "usable": f"{card.usable_gb:.1f}"}
    if not card.remedies:
        none_fits = gettext("No change of its settings makes it fit: use a smaller model or a larger GPU.")
        return f"{needs % sizes} {none_fits}"
    changes = "; ".join(describe_remedy(remedy) for remedy in card.remedies)
    return f"{needs % sizes} {gettext('It fits with one of these changes: %(changes)s.') % {'changes': changes}}"


def list_remedies(cards: Sequence[GrpoCardPlan]) -> list[CardRemedies]:
    """Return the changes for each card that is too small."""
    return [
        CardRemedies(int(card.gb), card.needed_gb, card.usable_gb, [describe_remedy(r) for r in card.remedies])
        for card in cards
        if not card.fits
    ]


def list_parts(cards: Sequence[GrpoCardPlan]) -> list[tuple[str, list[float]]]:
    """Return (part in words, its GB on each card), without parts that are nowhere more than 0."""
    rows = [(gettext(words), [card.parts_gb[part] for card in cards]) for part, words in PARTS.items()]
    return [(words, sizes) for words, sizes in rows if any(sizes)]


def list_phases(cards: Sequence[GrpoCardPlan]) -> list[tuple[str, list[float]]]:
    """Return (phase in words, its peak in GB on each card)."""
    return [(gettext(words), [card.phases_gb[phase] for card in cards]) for phase, words in PHASES.items()]
