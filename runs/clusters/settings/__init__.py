"""The config of a cluster, a dataclass for each kind."""

from runs.clusters.settings.cluster import KEYS, complaints

__all__ = [
    "KEYS",
    "complaints",
]
