"""Agreement of several judges, and position bias, computed from votes. Nothing here imports Django."""

from judging.stats.agreement.disputes import ContestedPair, contested_pairs
from judging.stats.agreement.groups import (
    NOT_FIXED,
    GroupAgreement,
    RaterContribution,
    agreement_between,
    agreement_within,
    rater_contributions,
)
from judging.stats.agreement.labels import Labels, build_labels
from judging.stats.agreement.position import (
    MERGING,
    NO_SIDES,
    NOT_BOTH_WAYS,
    POLICIES,
    Swaps,
    apply_swap_policy,
    find_swaps,
    slot_share,
    swap_consistency,
)
from judging.stats.agreement.raters import (
    NO_DECISION,
    NOTHING_SHARED,
    ONE_LABEL,
    OverallAgreement,
    Pair,
    compare_all_raters,
    compare_raters,
    overall_agreement,
)
from judging.stats.agreement.scorer_comparison import (
    NO_SCORED_VOTE,
    ContestantAgreement,
    ScorerAgreement,
    ScorerComparison,
    compare_with_scorer,
)
from judging.stats.agreement.shares import NEVER_MET, NO_LENGTHS, PairTieRates, longer_share, pair_tie_rates
from workers.analysis.resampling import Estimate

UNDEFINED = (
    ONE_LABEL, NOTHING_SHARED, NO_DECISION, NOT_FIXED, NO_LENGTHS, NO_SIDES, NOT_BOTH_WAYS, NO_SCORED_VOTE, NEVER_MET,
)  # fmt: skip
"""Reasons why an estimate may be undefined."""

__all__ = [
    "MERGING",
    "POLICIES",
    "UNDEFINED",
    "ContestantAgreement",
    "ContestedPair",
    "Estimate",
    "GroupAgreement",
    "Labels",
    "OverallAgreement",
    "Pair",
    "PairTieRates",
    "RaterContribution",
    "ScorerAgreement",
    "ScorerComparison",
    "Swaps",
    "agreement_between",
    "agreement_within",
    "apply_swap_policy",
    "build_labels",
    "compare_all_raters",
    "compare_raters",
    "compare_with_scorer",
    "contested_pairs",
    "find_swaps",
    "longer_share",
    "overall_agreement",
    "pair_tie_rates",
    "rater_contributions",
    "slot_share",
    "swap_consistency",
]
