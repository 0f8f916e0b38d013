"""Costs of runs in hours of GPUs and cores: estimates before a launch, counts of used hours, and limits."""

from runs.launching.budgets.estimate import Estimate, Estimator
from runs.launching.budgets.hours import Hours, estimated_hours, format_hours, hours_of, shares, spent_hours, total
from runs.launching.budgets.limits import LIMIT_PATH, Demand, check_limits, check_resume_limits, set_limit, use_of
from runs.launching.budgets.requested_nodes import Resources, resources_of

__all__ = [
    "LIMIT_PATH",
    "Demand",
    "Estimate",
    "Estimator",
    "Hours",
    "Resources",
    "check_limits",
    "check_resume_limits",
    "estimated_hours",
    "format_hours",
    "hours_of",
    "resources_of",
    "set_limit",
    "shares",
    "spent_hours",
    "total",
    "use_of",
]
