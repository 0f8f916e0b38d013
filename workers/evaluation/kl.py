"""Compute KL(π ‖ π₀) at each token of a completion, in nats: exactly over the vocabulary, and by Schulman's estimates.

All are teacher-forced on a completion that π itself wrote, up to and including its end, at temperature 1:

    exact_t   = Σ_v π(v | y_<t) (log π(v | y_<t) − log π₀(v | y_<t))
    k1_t      = −r
    k2_t      = r² / 2
    k3_t      = exp(r) − r − 1,  r = log π₀(y_t | y_<t) − log π(y_t | y_<t)      (joschu.net/blog/kl-approx.html)
    entropy_t = −Σ_v π(v | y_<t) log π(v | y_<t)

The estimates look at the sampled token alone. k1 and k3 are unbiased, k2 is not. k3 is what papers report, but it is
heavy-tailed once the models are far apart; summing over the vocabulary takes away the part of that noise that a token's
draw brings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workers.evaluation.token_batches import batches, blocks, right_padded


@dataclass(frozen=True)
class TokenKl:
    """The measures of one completion, and the entropy of the model there: each float64 [tokens], in nats."""

    exact: NDArray[np.float64]
    k1: NDArray[np.float64]
    k2: NDArray[np.float64]
    k3: NDArray[np.float64]
    entropy: NDArray[np.float64]


@torch.no_grad()
def kl_per_token(
    model: nn.Module, base: nn.Module, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]
) -> list[TokenKl]:
    """Return KL(model ‖ base) on token ids; the i-th completion follows the i-th prompt. Same device, dtype and
    vocabulary.

    Neither prompt nor completion may be empty. A model against itself gives exactly 0.
    """
    kls: dict[int, TokenKl] = {}
    device = next(model.parameters()).device
    for rows in batches(model, prompts, completions, models=2):
        ids = right_padded([[*prompts[i], *completions[i]] for i in rows], device)
        # The logits that predict completions are the last ones of each row; the prompts' are never computed.
        keep = ids.shape[1] - min(len(prompts[i]) for i in rows) + 1
        policy, reference = (m(input_ids=ids, use_cache=False, logits_to_keep=keep).logits for m in (model, base))
        for at, i in enumerate(rows):
            start = len(prompts[i]) - 1 - (ids.shape[1] - keep)
            span = slice(start, start + len(completions[i]))
            targets = ids[at, len(prompts[i]) : len(prompts[i]) + len(completions[i])]
            kls[i] = _completion_kl(policy[at, span], reference[at, span], targets)
    return [kls[i] for i in range(len(completions))]


def _completion_kl(policy: Tensor, reference: Tensor, targets: Tensor) -> TokenKl:
    """Return the KL of one completion, from logits [tokens, vocabulary] and token ids [tokens], in float32 blocks."""
    measures = zip(*(_block(*block) for block in blocks(policy, reference, targets)), strict=True)
    return TokenKl(*(torch.cat(measure).cpu().numpy() for measure in measures))


def _block(policy: Tensor, reference: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    log_p, log_q = policy.float().log_softmax(-1), reference.float().log_softmax(-1)
    p = log_p.exp()
    exact = (p * (log_p - log_q)).sum(-1, dtype=torch.float64)
    entropy = -(p * log_p).sum(-1, dtype=torch.float64)
    # Computed in float64, because exp(r) − r − 1 of a small float32 r would round below zero.
    r = (log_q - log_p).gather(1, targets[:, None])[:, 0].double()
    return exact, -r, r.square() / 2, torch.expm1(r) - r, entropy
