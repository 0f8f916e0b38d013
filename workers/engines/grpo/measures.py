"""Measures of the training's own tokens that TRL does not log, from tensors that its loss has computed anyway.

All are means over the tokens of the loss, of all passes since TRL's last log, in nats, at the sampling temperature. π
is the policy, π₀ the reference (with beta > 0), and q the sampler, where it is another engine than the trainer (vLLM):

    entropy/sampled         −log π(y_t), the estimate of the entropy by the sampled tokens. TRL's `entropy` is exact: it
                            sums −π log π over the vocabulary. After an update on the same completions (num_iterations
                            above 1), π is newer than the policy that drew the tokens, and this is a cross-entropy.
    kl/k1, kl/k2, kl/k3     KL(π ‖ π₀), as in `workers/evaluation/kl.py`, with r = log π₀(y_t) − log π(y_t)
    sampling/kl_k1, kl_k3   KL(q ‖ π), since q draws the tokens, with r = log π(y_t) − log q(y_t)
    sampling/unscored_tokens    number of tokens for which the sampler reported no log probability (NaN)
    groups/zero_variance    share of the groups whose rewards are all equal
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping

import torch
from torch import Tensor

UNSCORED = "sampling/unscored_tokens"
ZERO_VARIANCE = "groups/zero_variance"


def token_sums(log_probs: Tensor, inputs: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
    """Return (sum, count) over the tokens of the loss by measure, float64, from log π [completions, tokens].

    `inputs` is a batch as TRL's loss gets it. The keys depend on the settings alone, so they are equal in all
    processes.
    """
    log_probs = log_probs.detach()
    mask = loss_mask(inputs)
    sums = {"entropy/sampled": masked_sum(-log_probs.double(), mask)}
    if "ref_per_token_logps" in inputs:
        k1, k2, k3 = kl_estimates((inputs["ref_per_token_logps"] - log_probs).double())
        sums |= {"kl/k1": masked_sum(k1, mask), "kl/k2": masked_sum(k2, mask), "kl/k3": masked_sum(k3, mask)}
    if "sampling_per_token_logps" in inputs:
        r = (inputs.get("old_per_token_logps", log_probs) - inputs["sampling_per_token_logps"]).double()
        is_unscored = torch.isnan(inputs["sampling_per_token_logps"])
        k1, _, k3 = kl_estimates(r)
        sums["sampling/kl_k1"] = masked_sum(k1, mask & ~is_unscored)
        sums["sampling/kl_k3"] = masked_sum(k3, mask & ~is_unscored)
        sums[UNSCORED] = masked_sum(is_unscored.double(), mask)
    return sums


def kl_estimates(r: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return Schulman's k1, k2 and k3 of KL(p ‖ q) at each token, where r = log q − log p and p drew the tokens."""
    return -r, r.square() / 2, torch.expm1(r) - r


def loss_mask(inputs: Mapping[str, Tensor]) -> Tensor:
    """Return which tokens are in the loss, bool [completions, tokens]."""
    mask = inputs["completion_mask"]
    return (mask * inputs["tool_mask"] if "tool_mask" in inputs else mask).bool()


def masked_sum(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of the values where `mask` is true, whatever the others are, and the number of those values."""
    return values.masked_fill(~mask, 0.0).sum(), mask.sum().double()


class TokenMeans:
    """The measures of all forward passes since TRL last logged, over all processes.

    TRL logs the mean of a list of numbers, one a pass. Passes differ in their number of tokens, so the list holds one
    number: the mean over the tokens of all passes.
    """

    def __init__(self, reduce: Callable[[Tensor], Tensor]) -> None:
        """`reduce` returns the sum over all processes: one collective call for all measures."""
        self._reduce = reduce
        self._totals: dict[str, tuple[float, float]] = {}

    def add(self, metrics: MutableMapping[str, list[float]], sums: Mapping[str, tuple[Tensor, Tensor]]) -> None:
        """Add a forward pass, and set its measures in TRL's lists. Call it in every process.

        A mean over no token is NaN, which TRL leaves out. Unscored tokens are counted, not averaged.
        """
        added = self._reduce(torch.stack([torch.stack(pair) for pair in sums.values()])).tolist()
        for name, (total, count) in zip(sums, added, strict=True):
            # TRL empties its lists when it logs them.
            before = self._totals[name] if metrics.get(name) else (0.0, 0.0)
            total, count = self._totals[name] = before[0] + total, before[1] + count
            metrics[name] = [total if name == UNSCORED else total / count if count else float("nan")]


def zero_variance_share(rewards: Tensor, group_size: int) -> float:
    """Return the share of groups whose rewards are all equal, from the rewards [completions] of all processes."""
    groups = rewards.view(-1, group_size)
    return (groups.amax(1) == groups.amin(1)).double().mean().item()
