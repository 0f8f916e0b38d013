"""What runs cost: hours of GPUs and cores, estimated before they are launched and counted while they run."""

from runs.costs.estimate import Estimate, Estimator
from runs.costs.hours import Hours, expected, hours_of, spent, total

__all__ = ["Estimate", "Estimator", "Hours", "expected", "hours_of", "spent", "total"]
