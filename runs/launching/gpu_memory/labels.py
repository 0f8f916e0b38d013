"""A plan in the language of the page: its parts, its phases, and the changes with which a run fits."""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from workers.memory_plan import CardPlan, Remedy

PARTS = {
    "native": {
        "master": _("Master weights, float32"),
        "working": _("Weights for generation"),
        "reference": _("Copies of the base model"),
        "copies": _("Further copies of the weights"),
        "factors": _("Noise of the members"),
        "cache": _("Keys and values"),
        "workspace": _("Workspace"),
        "evaluation": _("Evaluation"),
    },
    "grpo": {
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
    },
}
"""Name in `workers.preflight.PLANNERS` -> part of its plans -> label. The page shows no parts of vllm's plans."""
PHASES = {
    "generation": _("Generation"),
    "update": _("Update"),
    "evaluation": _("Evaluation"),
    "checkpoint": _("Checkpoint"),
}
"""Phase of a plan -> label."""


def describe_remedy(remedy: Remedy) -> str:
    """Return the change as an imperative, such as "use grpo.gradient_checkpointing (40 GB)"."""
    return gettext(remedy.template) % remedy.values


def describe_reason(card: CardPlan) -> str:
    """Return why the run does not fit this card, and the changes with which it does; an empty text if it fits."""
    if card.fits:
        return ""
    needs = gettext("The run needs %(needed)s GB; this card has %(card)s GB, of which %(usable)s GB can be used.")
    sizes = {"needed": f"{card.needed_gb:.1f}", "card": f"{card.card_gb:g}", "usable": f"{card.usable_gb:.1f}"}
    if not card.remedies:
        none_fits = gettext("No change of its settings makes it fit: use a smaller model or a larger GPU.")
        return f"{needs % sizes} {none_fits}"
    changes = "; ".join(describe_remedy(remedy) for remedy in card.remedies)
    return f"{needs % sizes} {gettext('It fits with one of these changes: %(changes)s.') % {'changes': changes}}"
