"""A real Slurm on this machine: three nodes with fake GPUs, in a folder of its own, with or without accounting.

`python -m tests.clusters.slurm up DIR` and `down DIR` by hand; `tests/clusters/conftest.py` for tests.
"""

from tests.clusters.slurm.cluster import SlurmCluster, missing

__all__ = ["SlurmCluster", "missing"]
