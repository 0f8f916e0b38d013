"""Presets on a cluster: whether it has the hardware that a config needs, and the config adapted to what it has."""

from runs.launching.presets.adaptation import Adaptation, adapt_to_cluster, find_adaptation

__all__ = ["Adaptation", "adapt_to_cluster", "find_adaptation"]
