"""Votes of several judges -> how far they agree, and whether standing first helped. No Django below this line."""

from judging.agreement.contested import Contested, contested
from judging.agreement.groups import Group, Without, among, between, without_each
from judging.agreement.labels import Labels, labels
from judging.agreement.length import longer_share
from judging.agreement.position import POLICIES, Swaps, by_policy, consistency, slot_share, swaps
from judging.agreement.raters import All, Pair, pair, pairs, together
from judging.agreement.resampling import Estimate
from judging.agreement.scoring import Against, Alike, OfContestant, against
from judging.agreement.ties import Ties, tie_rates

__all__ = [
    "POLICIES",
    "Against",
    "Alike",
    "All",
    "Contested",
    "Estimate",
    "Group",
    "Labels",
    "OfContestant",
    "Pair",
    "Swaps",
    "Ties",
    "Without",
    "against",
    "among",
    "between",
    "by_policy",
    "consistency",
    "contested",
    "labels",
    "longer_share",
    "pair",
    "pairs",
    "slot_share",
    "swaps",
    "tie_rates",
    "together",
    "without_each",
]
