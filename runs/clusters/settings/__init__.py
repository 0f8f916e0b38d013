"""The config of a cluster, a dataclass for each kind."""

from runs.clusters.settings.cluster import EXAMPLES, KEYS, complaints

__all__ = [
    "EXAMPLES",
    "KEYS",
    "complaints",
]
