"""Votes of several judges -> how far they agree, and whether standing first helped. No Django below this line."""

from judging.agreement.labels import Labels, labels
from judging.agreement.position import POLICIES, Swaps, by_policy, slot_share, swaps
from judging.agreement.raters import All, Pair, pair, pairs, together
from judging.agreement.resampling import Estimate

__all__ = [
    "POLICIES",
    "All",
    "Estimate",
    "Labels",
    "Pair",
    "Swaps",
    "by_policy",
    "labels",
    "pair",
    "pairs",
    "slot_share",
    "swaps",
    "together",
]
