"""Runs attempts on a Ray cluster, through the Jobs API of its dashboard."""

from workers.executors.ray.executor import Ray
from workers.executors.ray.site import Site

__all__ = ["Ray", "Site"]
