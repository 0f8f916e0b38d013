"""The config of a cluster, a dataclass for each kind."""

from runs.clusters.settings.cluster import EXAMPLES, KEYS, config_errors

__all__ = [
    "EXAMPLES",
    "KEYS",
    "config_errors",
]
