"""One Slurm for all tests that need one, another with accounting, one Ray.

Each starts with the first test that needs it and ends with this package: an idle one uses processor time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from runs import clusters
from tests.clusters import ray as our_ray
from tests.clusters.fakes.far import KINDS, Far, make_far
from tests.clusters.ray import RayHead, RayNode
from tests.clusters.scripted_ray import ScriptedRay
from tests.clusters.scripted_ray import make_ray_cluster as cluster_on_ray
from tests.clusters.scripted_slurm import ScriptedSlurm, make_slurm_cluster
from tests.clusters.slurm import SlurmCluster, missing
from tests.clusters.sshd import Sshd
from tests.clusters.sshd import missing as sshd_missing
from workers.executors.agent_start import PROJECT


def _start_slurm(accounting: bool) -> Iterator[SlurmCluster]:
    if reason := missing(accounting):
        pytest.skip(reason)
    # pytest's own folder has a long name that does not fit into the address of a socket.
    cluster = SlurmCluster(Path(tempfile.mkdtemp(prefix="esweb-slurm-")), accounting)
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down()


@pytest.fixture(scope="package")
def package_slurm() -> Iterator[SlurmCluster]:
    """Yield a Slurm without accounting, up for the whole package."""
    yield from _start_slurm(accounting=False)


@pytest.fixture(scope="package")
def slurm_with_accounting() -> Iterator[SlurmCluster]:
    """Yield a Slurm with accounting, up for the whole package."""
    yield from _start_slurm(accounting=True)


@pytest.fixture
def slurm(package_slurm: SlurmCluster) -> Iterator[SlurmCluster]:
    """Yield the Slurm without accounting; empty, and with every server running, when a test begins."""
    yield package_slurm
    package_slurm.repair()


@pytest.fixture(scope="package")
def sshd() -> Iterator[Sshd]:
    """Yield an sshd, to reach this machine as if it were another one."""
    if reason := sshd_missing():
        pytest.skip(reason)
    server = Sshd(Path(tempfile.mkdtemp(prefix="esweb-sshd-")))
    try:
        server.up()
        yield server
    finally:
        server.down()


@pytest.fixture(scope="session")
def shared_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the copies of the code that attempts run, shared by all tests."""
    return tmp_path_factory.mktemp("code")


@pytest.fixture
def site_disk(tmp_path: Path, shared_code: Path, settings: Settings) -> Path:
    """Return the data folder of this esweb, new for the test."""
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    (tmp_path / "code").symlink_to(shared_code)
    return tmp_path


@pytest.fixture
def cluster_disk(tmp_path: Path, shared_code: Path) -> Path:
    """Return the data folder on the remote machine."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "code").symlink_to(shared_code)
    return tmp_path / "there"


@pytest.fixture
def access_config(request: pytest.FixtureRequest, slurm: SlurmCluster, cluster_disk: Path) -> dict[str, str]:
    """Return the config for access to the cluster: Slurm's commands here, or over SSH for a test that is `OVER_SSH`."""
    if getattr(request, "param", "here") == "here":
        return {"slurm_conf": str(slurm.conf)}
    sshd: Sshd = request.getfixturevalue("sshd")
    return {"slurm_conf": str(slurm.conf), **sshd.config(cluster_disk)}


@pytest.fixture
def slurm_executor(
    slurm: SlurmCluster, access_config: dict[str, str], db: None, site_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> ScriptedSlurm:
    """Return the executor of the cluster `far`. Set its `program` before launching."""
    # Tests with the trainer ship the code over SSH; for small programs the agent's code is already there.
    code = {"project": str(PROJECT)} if "address" in access_config else {}
    cluster = make_slurm_cluster(**access_config, **code)
    executor = ScriptedSlurm(
        slurm.conf, site_disk / "queue", clusters.submit_host_of(cluster) if cluster.is_remote else None, **code
    )
    monkeypatch.setitem(clusters.EXECUTORS, "slurm", lambda cluster: executor)
    return executor


@pytest.fixture(scope="package")
def package_ray() -> Iterator[RayHead]:
    """Yield a Ray head, up for the whole package."""
    if reason := our_ray.missing():
        pytest.skip(reason)
    head = RayHead(Path(tempfile.mkdtemp(prefix="esweb-ray-")))
    try:
        head.up()
        yield head
    finally:
        head.down()


@pytest.fixture
def ray(package_ray: RayHead) -> Iterator[RayHead]:
    """Yield the Ray head without running jobs, and with every part running, when a test begins."""
    yield package_ray
    package_ray.repair()


@pytest.fixture
def second_ray_node(ray: RayHead) -> Iterator[RayNode]:
    """Yield a second node of the Ray head, which ends with the test."""
    node = RayNode(ray)
    try:
        node.up()
        yield node
    finally:
        node.down()


@pytest.fixture
def ray_executor(ray: RayHead, db: None, site_disk: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRay:
    """Return the executor of the cluster `far`. Set its `program` before launching."""
    cluster_on_ray(ray)
    executor = ScriptedRay(ray, site_disk / "queue")
    monkeypatch.setitem(clusters.EXECUTORS, "ray", lambda cluster: executor)
    return executor


@pytest.fixture(params=KINDS)
def far(
    request: pytest.FixtureRequest, db: None, site_disk: Path, cluster_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Far]:
    """Yield the cluster `far` on a fake of each kind, or of the kinds that a mark of the test names."""
    with make_far(request.param, cluster_disk, monkeypatch) as cluster:
        yield cluster
