"""Clusters without programs and servers: fakes of Slurm's commands, of a machine behind SSH, and of Ray's Jobs API.

esweb runs unchanged up to the command or the HTTP request. A test lets jobs start, end and vanish, so nothing takes
time. What these fakes reply is what a real Slurm and a real Ray reply in the tests that are marked `soak`.
"""

from tests.clusters.fakes.ray import FakeRay
from tests.clusters.fakes.slurm import FakeSlurm
from tests.clusters.fakes.ssh import InProcessSsh

__all__ = ["FakeRay", "FakeSlurm", "InProcessSsh"]
