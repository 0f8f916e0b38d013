"""GPUs of this machine: offered without a setting, shown with what runs on each, and tried by the test of its cluster.

The driver is a fake of its library, and torch counts as one that was built with CUDA.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs.clusters import cards_of, check_capacity, describe_gpus, executor_for
from runs.clusters.connection_test import advance_test, begin_test, gpu_training
from runs.clusters.connection_test.steps import STEPS
from runs.models import Cluster, ClusterTest, Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.runs.clusters.stored_inventories import RAYS, make_cluster
from tests.runs.clusters.test_pages import page_text
from tests.runs.local_cluster import attempt_of, run_of
from tests.waiting import wait_until
from tests.workers.gpus.fake_driver import FakeDriver, FakeGpu, use_driver
from workers.attempt import Process
from workers.config import ConfigError, RunConfig, preset
from workers.executors.tickets import Ticket, Tickets
from workers.gpus.torch_build import TorchBuild

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
PAGE = "/settings/clusters/of/local/"
FREE, FULL = FakeGpu("GPU-a"), FakeGpu("GPU-b", used_mb=140_000)
NO_CUDA = "torch 2.13.0+cpu was built without CUDA; replace it by make setup TORCH=cuda"


@pytest.fixture
def root_client(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Settings) -> Callable[..., FakeDriver]:
    """Return a function that gives this machine GPUs and a build of torch."""
    settings.DATA_DIR = tmp_path

    def install(*gpus: FakeGpu, cuda: str = "13.0") -> FakeDriver:
        build = TorchBuild("2.13.0" if cuda else "2.13.0+cpu", cuda)
        monkeypatch.setattr("workers.gpus.offer.installed_torch", lambda: build)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        return use_driver(monkeypatch, FakeDriver(*gpus))

    return install


def refusals(cluster: Cluster, **compute: object) -> dict[str, str]:
    config = {**preset("es-micro").config, "compute": {"cluster": cluster.name, **compute}}
    try:
        check_capacity(RunConfig.from_json(config), cluster)
    except ConfigError as error:
        return {problem.path: problem.message for problem in error.problems}
    return {}


def put_on_gpu(run: Run, device: str, share: float) -> None:
    """Let a run have a share of a GPU, as if its agent were this process."""
    tickets = Tickets(executor_for(run.attempts.get().cluster).root)  # type: ignore[attr-defined]
    key, directory = run.attempts.get().key, str(run.attempts.get().directory)
    tickets.put(Ticket(key, 1, directory, 1, share, devices=(device,), owner=Process.at(os.getpid())))


def begin_gpu_test(cluster: Cluster) -> ClusterTest:
    """Begin a test whose first job has ended."""
    test = begin_test(cluster, None)
    test.steps = [{"name": name, "said": "done"} for name in STEPS["local"] if name != "gpu"]
    test.save()
    return test


def test_gpus_that_the_driver_shows_are_offered_without_a_setting(
    local: Cluster, driver: Callable[..., FakeDriver]
) -> None:
    present = driver(FREE, FULL)
    assert [card.device for card in executor_for(local).gpus] == ["GPU-a", "GPU-b"]  # type: ignore[attr-defined]
    assert refusals(local, gpus=2) == refusals(local, gpus="auto") == {}
    assert refusals(local, gpus=3) == {"compute.gpus": "must be at most 2, not 3: no node of cluster local has more"}
    local.config = {"gpus": ["1"]}
    assert [card.device for card in cards_of(local)] == ["GPU-b"]
    local.config = {}
    present.gpus.remove(FREE)
    assert [card.device for card in cards_of(local)] == ["GPU-b"]


@each_case(
    ("gpus", "cuda", "config", "sentence"),
    [
        (
            (), "13.0", {},
            "must be 0, not 1: no node of cluster local has GPUs; the NVIDIA driver shows no GPU; compute.cluster rays "
            "has such nodes",
        ),
        (
            (FREE,), "", {},
            f"must be 0, not 1: no node of cluster local has GPUs; {NO_CUDA}; compute.cluster rays has such nodes",
        ),
        (
            (FREE,), "13.0", {"gpus": []},
            'must be 0, not 1: no node of cluster local has GPUs; the config of the cluster has "gpus": [], which an '
            "admin can change (Settings → Clusters); compute.cluster rays has such nodes",
        ),
    ],
)  # fmt: skip
def test_refusal_of_gpus_names_what_would_allow_them(
    gpus: tuple[FakeGpu, ...],
    cuda: str,
    config: dict[str, object],
    sentence: str,
    local: Cluster,
    driver: Callable[..., FakeDriver],
) -> None:
    make_cluster("rays", "ray", *RAYS)
    driver(*gpus, cuda=cuda)
    local.config = config
    assert refusals(local, gpus=1) == {"compute.gpus": sentence}


def test_refusal_on_a_machine_without_driver_names_the_setting(local: Cluster) -> None:
    message = refusals(local, gpus=1)["compute.gpus"]
    assert message.startswith("must be 0, not 1: no node of cluster local has GPUs; this machine has no NVIDIA driver")
    assert message.endswith("an admin can name them with gpus in its config (Settings → Clusters)")
    local.config = {"cores": 2}
    assert refusals(local, cores=3)["compute.cores"].endswith(
        "an admin can set cores in its config, by default those of ESWEB_LOCAL_SLOTS (Settings → Clusters)"
    )


def test_console_has_a_line_for_each_local_cluster(local: Cluster, driver: Callable[..., FakeDriver]) -> None:
    assert describe_gpus() == []
    driver(FREE, FULL)
    both = "GPUs for runs: 2 × NVIDIA H200 (151 GB), 147 GB of GPU 1 in use"
    assert describe_gpus() == [both]
    Cluster.objects.create(name="quiet", kind="local", config={"gpus": ["0"]})
    assert describe_gpus() == [f"{both} (cluster local)", "GPUs for runs: NVIDIA H200 (151 GB) (cluster quiet)"]


def test_page_shows_what_runs_on_each_gpu(
    root_client: Client, experiment: Experiment, driver: Callable[..., FakeDriver]
) -> None:
    driver(FREE, FULL)
    run = run_of(experiment, gpus=0.25)
    attempt_of(run)
    put_on_gpu(run, "GPU-a", 0.25)
    page = page_text(root_client.get(PAGE))
    free, full = page[page.index('<h2 id="gpus-title">') :].split("</tr>")[1:3]
    assert run.name in free and "25 %" in free and "150.8 GB" in free
    assert "nothing" in full and full.count("146.8 GB") == 2
    assert "Runs cannot use" not in page


def test_page_and_api_count_jobs_of_runs_that_the_viewer_may_not_see(
    private_experiment: Experiment, bo: User, ada: User, driver: Callable[..., FakeDriver]
) -> None:
    driver(FREE)
    run = run_of(private_experiment, gpus=0.25)
    attempt_of(run)
    put_on_gpu(run, "GPU-a", 0.25)
    for person in (ada, bo):
        read = calls(person, "read").get("/api/v1/clusters/local")
        assert read.json()["gpus"] == [
            {
                "index": 0, "name": "NVIDIA H200", "memory_gb": 150.755, "used_gb": 0.0, "others_gb": 0.0,
                "share": 0.25, "jobs": 1,
            }
        ]  # fmt: skip
        assert read.json()["gpus_reason"] == "" and run.name not in read.content.decode()


@each_case(
    ("gpus", "cuda", "words"),
    [
        ((FREE,), "", f"Runs cannot use a GPU: {NO_CUDA}."),
        ((FREE, FakeGpu("GPU-z", code=15)), "13.0", "Runs cannot use others: GPU 1: it does not reply any more"),
    ],
)
def test_page_says_why_runs_cannot_use_a_gpu(
    gpus: tuple[FakeGpu, ...], cuda: str, words: str, root_client: Client, driver: Callable[..., FakeDriver]
) -> None:
    driver(*gpus, cuda=cuda)
    assert words in page_text(root_client.get(PAGE))


def test_page_of_a_machine_without_driver_says_so(root_client: Client) -> None:
    assert "Runs cannot use a GPU: this machine has no NVIDIA driver." in page_text(root_client.get(PAGE))


def test_test_of_the_cluster_trains_on_a_gpu(
    local: Cluster, driver: Callable[..., FakeDriver], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver(FREE)
    # Without a real GPU, the same training on a core: the job and its records are those of the step.
    monkeypatch.setitem(gpu_training.CHANGES, "model", {"path": "micro", "device": "cpu"})
    test = begin_gpu_test(local)
    wait_until(lambda: advance_test(test), "the test of the cluster to end", details=lambda: test.steps)
    assert not test.has_failed, test.steps
    assert test.steps[-1]["name"] == "gpu" and test.steps[-1]["said"].startswith("3 steps on ")


def test_test_of_the_cluster_fails_if_no_run_can_use_the_gpu(local: Cluster, driver: Callable[..., FakeDriver]) -> None:
    driver(FREE, cuda="")
    test = begin_gpu_test(local)
    assert advance_test(test)
    assert test.has_failed and test.steps[-1]["said"] == f"no run can use a GPU: {NO_CUDA}"
