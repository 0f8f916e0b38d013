"""A real Ray head on this machine, on loopback alone, in a folder of its own, with fake GPUs and a token of its own.

`python -m tests.clusters.ray install` once, then `up` and `down` by hand; `tests/clusters/conftest.py` for tests.
"""

from tests.clusters.ray.head import RayHead
from tests.clusters.ray.installation import missing
from tests.clusters.ray.node import RayNode

__all__ = ["RayHead", "RayNode", "missing"]
