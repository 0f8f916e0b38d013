"""Votes of several judges -> how far they agree, and whether standing first helped. No Django below this line."""

from judging.stats.agreement.contested import Contested, contested
from judging.stats.agreement.groups import NOT_FIXED, Group, Without, among, between, without_each
from judging.stats.agreement.labels import Labels, labels
from judging.stats.agreement.position import (
    MERGING,
    NO_SIDES,
    NOT_BOTH_WAYS,
    POLICIES,
    Swaps,
    by_policy,
    consistency,
    slot_share,
    swaps,
)
from judging.stats.agreement.raters import NO_DECISION, NOTHING_SHARED, ONE_LABEL, All, Pair, pair, pairs, together
from judging.stats.agreement.resampling import Estimate
from judging.stats.agreement.scoring import NOTHING, Against, Alike, OfContestant, against
from judging.stats.agreement.shares import NEVER_MET, NO_LENGTHS, Ties, longer_share, tie_rates

UNDEFINED = (
    ONE_LABEL, NOTHING_SHARED, NO_DECISION, NOT_FIXED, NO_LENGTHS, NO_SIDES, NOT_BOTH_WAYS, NOTHING, NEVER_MET,
)  # fmt: skip
"""Why an estimate may be none."""

__all__ = [
    "MERGING",
    "POLICIES",
    "UNDEFINED",
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
