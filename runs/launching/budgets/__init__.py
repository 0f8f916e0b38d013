"""What runs cost: hours of GPUs and cores, estimated before they are launched, counted while they run, and limited."""

from runs.launching.budgets.estimate import Estimate, Estimator
from runs.launching.budgets.hours import BY, Hours, Share, expected, hours_of, shares, spent, total
from runs.launching.budgets.limits import (
    PLACE,
    Demand,
    Use,
    check_going_on,
    check_limits,
    limits_on,
    set_limit,
    since_of,
    use_of,
    uses,
)

__all__ = [
    "BY",
    "PLACE",
    "Demand",
    "Estimate",
    "Estimator",
    "Hours",
    "Share",
    "Use",
    "check_going_on",
    "check_limits",
    "expected",
    "hours_of",
    "limits_on",
    "set_limit",
    "shares",
    "since_of",
    "spent",
    "total",
    "use_of",
    "uses",
]
