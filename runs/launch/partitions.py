"""The partitions of a Slurm cluster that a run may choose from, as an administrator has named them in its config."""

from __future__ import annotations

from runs.models import Cluster
from workers.config import ConfigError, Problem, RunConfig

PLACE = "compute.partition"


def partitions_of(cluster: Cluster) -> list[str]:
    """All that are named, first the one that a run gets which chooses none."""
    named = [cluster.config.get("partition", ""), *cluster.config.get("partitions", [])]
    return list(dict.fromkeys(filter(None, named)))


def check_partition(config: RunConfig, cluster: Cluster) -> None:
    """Raises ConfigError for one that the cluster does not name."""
    chosen, known = config.compute.partition, partitions_of(cluster)
    if not chosen or chosen in known:
        return
    if known:
        said = f"must be one of {', '.join(known)} on cluster {cluster.name}, or empty for the first, not {chosen!r}"
    else:
        said = f"must be empty: cluster {cluster.name} names no partitions in its config, not {chosen!r}"
    raise ConfigError([Problem(PLACE, said)])
