"""The losses of TRL's GRPOTrainer, and which settings each of them reads (`_compute_loss` of TRL 1.16).

TRL ignores a setting that its loss does not read, so that a sweep over it would compare equal runs. Here it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from workers.config.decode import Problem

LossType = Literal["dapo", "grpo", "dr_grpo", "bnpo", "cispo", "sapo", "luspo", "vespo"]
LOSSES: tuple[str, ...] = get_args(LossType)
CLIPPED_ON_BOTH_SIDES = ("dapo", "grpo", "dr_grpo", "bnpo", "luspo")
READ_BY: Mapping[str, tuple[str, ...]] = {
    "delta": CLIPPED_ON_BOTH_SIDES,
    "epsilon_high": (*CLIPPED_ON_BOTH_SIDES, "cispo"),
    "sapo_temperature_neg": ("sapo",),
    "sapo_temperature_pos": ("sapo",),
    "vespo_k_pos": ("vespo",),
    "vespo_lambda_pos": ("vespo",),
    "vespo_k_neg": ("vespo",),
    "vespo_lambda_neg": ("vespo",),
    "importance_sampling_level": tuple(loss for loss in LOSSES if loss != "vespo"),
}
"""Field of `grpo.extra` -> the losses that read it. VESPO always weights whole sequences."""
LOSSES_WITH_EPSILON = READ_BY["epsilon_high"]
"""`epsilon` is the default of epsilon_high, which is all that CISPO clips at."""
LEVELS = ("token", "sequence")
VESPO_VLLM_MODES = ("token_truncate", "token_mask")


def loss_problems(loss: str, epsilon_is_default: bool, beta: float, extra: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each setting that the loss does not read, or that has no valid value for it."""
    if loss not in LOSSES_WITH_EPSILON and not epsilon_is_default:
        yield Problem("epsilon", f"is not read by loss {loss}, only by {', '.join(LOSSES_WITH_EPSILON)}: remove it")
    for name in sorted(extra.keys() & READ_BY.keys()):
        path, value = f"extra.{name}", extra[name]
        if loss not in READ_BY[name]:
            yield Problem(path, f"is not read by loss {loss}, only by {', '.join(READ_BY[name])}: remove it")
        elif name == "importance_sampling_level":
            if value not in LEVELS:
                yield Problem(path, f"must be {' or '.join(LEVELS)}, not {value!r}")
        elif value is None and name in ("delta", "epsilon_high"):
            continue  # TRL's default
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            yield Problem(path, f"must be a number above 0, not {value!r}")
    if extra.get("use_bias_correction_kl") and not beta:
        yield Problem("extra.use_bias_correction_kl", "corrects the KL term, which needs beta above 0")


def vespo_vllm_problems(extra: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if vLLM's importance weights are none that VESPO can use."""
    name = "vllm_importance_sampling_mode"
    if extra.get("vllm_importance_sampling_correction", True) and extra.get(name) not in VESPO_VLLM_MODES:
        yield Problem(f"extra.{name}", f"must be {' or '.join(VESPO_VLLM_MODES)} for loss vespo with vLLM")
