"""One Slurm for all tests that need one, another with accounting, one Ray.

Each starts with the first test that needs it and ends with this package: an idle one takes time of the processor.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from runs import clusters
from tests.clusters import ray as our_ray
from tests.clusters.far_slurm import Far, cluster_of
from tests.clusters.ray import RayHead
from tests.clusters.ray_cluster import OnRay
from tests.clusters.ray_cluster import cluster_of as cluster_on_ray
from tests.clusters.slurm import SlurmCluster, missing
from tests.clusters.sshd import Sshd
from tests.clusters.sshd import missing as sshd_missing
from workers.executors.starting import PROJECT


def _up(accounting: bool) -> Iterator[SlurmCluster]:
    if why := missing(accounting):
        pytest.skip(why)
    # Not pytest's own folder: its long name does not fit into the address of a socket.
    cluster = SlurmCluster(Path(tempfile.mkdtemp(prefix="esweb-slurm-")), accounting)
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down()


@pytest.fixture(scope="package")
def whole_slurm() -> Iterator[SlurmCluster]:
    """Without accounting, up for the whole package."""
    yield from _up(accounting=False)


@pytest.fixture(scope="package")
def accounted() -> Iterator[SlurmCluster]:
    """With accounting, up for the whole package."""
    yield from _up(accounting=True)


@pytest.fixture
def slurm(whole_slurm: SlurmCluster) -> Iterator[SlurmCluster]:
    """Without accounting; empty, and with every server running, when a test begins."""
    yield whole_slurm
    whole_slurm.mend()


@pytest.fixture(scope="package")
def sshd() -> Iterator[Sshd]:
    """The way to this machine as if it were another one."""
    if why := sshd_missing():
        pytest.skip(why)
    server = Sshd(Path(tempfile.mkdtemp(prefix="esweb-sshd-")))
    try:
        server.up()
        yield server
    finally:
        server.down()


@pytest.fixture(scope="session")
def code_kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copies of the code that attempts run: made once, and not for every test."""
    return tmp_path_factory.mktemp("code")


@pytest.fixture
def our_disk(tmp_path: Path, code_kept: Path, settings: Settings) -> Path:
    """Where this esweb keeps its data, new for the test."""
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    (tmp_path / "code").symlink_to(code_kept)
    return tmp_path


@pytest.fixture
def their_disk(tmp_path: Path, code_kept: Path) -> Path:
    """Where it keeps them on the other machine."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "code").symlink_to(code_kept)
    return tmp_path / "there"


@pytest.fixture
def reached(request: pytest.FixtureRequest, slurm: SlurmCluster, their_disk: Path) -> dict[str, str]:
    """Return the config of the way to the cluster: Slurm's commands here, or over SSH for a test that is `OVER_SSH`."""
    if getattr(request, "param", "here") == "here":
        return {"slurm_conf": str(slurm.conf)}
    sshd: Sshd = request.getfixturevalue("sshd")
    return {"slurm_conf": str(slurm.conf), **sshd.config(their_disk)}


@pytest.fixture
def far(slurm: SlurmCluster, reached: dict[str, str], db: None, our_disk: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    """The executor that every call to the cluster `far` reaches. Set its `program` before launching."""
    # Tests with the trainer ship the code over SSH; for small programs the agent's lies there.
    code = {"project": str(PROJECT)} if "address" in reached else {}
    cluster = cluster_of(**reached, **code)
    executor = Far(slurm.conf, our_disk / "queue", clusters.place_of(cluster) if cluster.is_far else None, **code)
    monkeypatch.setitem(clusters.EXECUTORS, "slurm", lambda cluster: executor)
    return executor


@pytest.fixture(scope="package")
def whole_ray() -> Iterator[RayHead]:
    """A Ray head, up for the whole package."""
    if why := our_ray.missing():
        pytest.skip(why)
    head = RayHead(Path(tempfile.mkdtemp(prefix="esweb-ray-")))
    try:
        head.up()
        yield head
    finally:
        head.down()


@pytest.fixture
def ray(whole_ray: RayHead) -> Iterator[RayHead]:
    """Empty of jobs that run, and with every part running, when a test begins."""
    yield whole_ray
    whole_ray.mend()


@pytest.fixture
def on_ray(ray: RayHead, db: None, our_disk: Path, monkeypatch: pytest.MonkeyPatch) -> OnRay:
    """The executor that every call to the cluster `far` reaches. Set its `program` before launching."""
    cluster_on_ray(ray)
    executor = OnRay(ray, our_disk / "queue")
    monkeypatch.setitem(clusters.EXECUTORS, "ray", lambda cluster: executor)
    return executor
