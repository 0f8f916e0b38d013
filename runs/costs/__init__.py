"""What runs cost: hours of GPUs and cores, estimated before they are launched, counted while they run, and limited."""

from runs.costs.estimate import Estimate, Estimator
from runs.costs.hours import Hours, expected, hours_of, spent, total
from runs.costs.limits import (
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
from runs.costs.shares import BY, Share, shares

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
