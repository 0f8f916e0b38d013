"""Costs of runs in hours of GPUs and cores: estimates before a launch, counts of used hours, and limits."""

from runs.launching.budgets.estimate import Estimate, Estimator
from runs.launching.budgets.hours import BY, Hours, Share, estimated_hours, hours_of, shares, spent_hours, total
from runs.launching.budgets.limits import (
    LIMIT_PATH,
    Demand,
    Use,
    check_limits,
    check_resume_limits,
    limits_on,
    period_start,
    set_limit,
    use_of,
    uses,
)
from runs.launching.budgets.requested_nodes import Resources, resources_of

__all__ = [
    "BY",
    "LIMIT_PATH",
    "Demand",
    "Estimate",
    "Estimator",
    "Hours",
    "Resources",
    "Share",
    "Use",
    "check_limits",
    "check_resume_limits",
    "estimated_hours",
    "hours_of",
    "limits_on",
    "period_start",
    "resources_of",
    "set_limit",
    "shares",
    "spent_hours",
    "total",
    "use_of",
    "uses",
]
