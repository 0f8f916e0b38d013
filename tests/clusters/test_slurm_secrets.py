"""Nothing secret reaches a job, and no word of a config or a run reaches a shell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runs.models import Cluster, Experiment
from tests.clusters.far import Far, run_far, there
from tests.clusters.slurm import SlurmCluster
from tests.runs.clusters import tick_until
from tests.waiting import wait_until
from tests.workers.attempts import python
from workers.executors.base import Rejected, Spec
from workers.executors.slurm import Site
from workers.executors.states import State

BARE = str(Path(sys.base_prefix) / "bin" / "python3")
"""An interpreter in which esweb is not installed."""
SHOWS_ENV = "import os; open('env', 'w').write(repr(dict(os.environ)))"


def test_a_planted_secret_never_reaches_a_job(
    experiment: Experiment, far: Far, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    monkeypatch.setenv("SBATCH_PARTITION", "high")
    monkeypatch.setenv("SBATCH_EXPORT", "ALL")
    far.program, far.site = SHOWS_ENV, Site(env={"HF_HOME": "/shared/hf"})
    far_row = Cluster.objects.get(name="far")
    far_row.config["partitions"] = ["main", "short"]
    far_row.save()
    ended = tick_until(run_far(experiment, gpus=1, partition="short"), "succeeded", "failed")
    assert ended.state == State.SUCCEEDED.value
    seen = (there(ended) / "env").read_text()
    assert "sown-in" not in seen and "DJANGO_SECRET" not in seen
    assert "'HF_HOME': '/shared/hf'" in seen and "'CUDA_VISIBLE_DEVICES': '" in seen
    assert "'SLURM_JOB_PARTITION': 'short'" in seen
    for file in there(ended).rglob("*"):
        assert not file.is_file() or b"sown-in" not in file.read_bytes()
    assert "sown-in" not in slurm.ask("scontrol", "show", "job", ended.native_id)


@pytest.mark.parametrize(
    ("reached", "field"),
    [*(("here", field) for field in ("partition", "account", "qos", "constraint", "gpu_type")), ("ssh", "qos")],
    indirect=["reached"],
)
def test_a_hostile_word_is_refused_by_slurm_and_read_by_no_shell(
    far: Far, slurm: SlurmCluster, tmp_path: Path, field: str
) -> None:
    # What an administrator's form refuses, had it come in by another way.
    hostile = Far(
        slurm.conf, tmp_path / "queue", far.place, **{field: f"main;touch${{IFS}}{tmp_path}/x $(touch {tmp_path}/x)"}
    )
    spec = Spec(f"esweb-{tmp_path.name}-a1", tmp_path / "runs" / "job", tuple(python("pass")), gpus=1)
    try:
        hostile.submit(spec)
    except Rejected as refused:
        assert "\n" not in str(refused)
    assert not (tmp_path / "x").exists()


def test_hostile_modules_variables_and_folders_are_words_to_the_job(
    far: Far, slurm: SlurmCluster, tmp_path: Path
) -> None:
    bad = f"$(touch {tmp_path}/x);`touch {tmp_path}/x`"
    far.site, far.program = Site(env={"NOTE": bad}), SHOWS_ENV
    spec = Spec(f"esweb-{tmp_path.name}-a1", tmp_path / "runs" / "a %j $(touch x) b", tuple(python("pass")))
    directory = Path(far.place.there(spec.directory))
    far.submit(spec)
    wait_until(lambda: (seen := far.find(spec.key)) and seen.state == State.SUCCEEDED, "the job to succeed")
    assert repr(bad) in (directory / "env").read_text()
    assert (directory / "slurm.log").exists()
    far.site = Site(modules=(bad,))
    other = Spec(f"esweb-{tmp_path.name}-a2", tmp_path / "runs" / "other", tuple(python("pass")))
    far.submit(other)
    wait_until(lambda: (seen := far.find(other.key)) and seen.state == State.FAILED, "the job to fail")
    assert not list(tmp_path.rglob("x"))


def test_a_wrong_interpreter_and_a_missing_module_are_named(experiment: Experiment, far: Far) -> None:
    for site, words in (
        (Site(python="/opt/none/python"), "the node has no such interpreter: see python in the cluster's config"),
        (
            Site(python=BARE, project="/opt/none"),
            "the node does not see esweb's code: see project in the cluster's config",
        ),
        (Site(modules=("cuda/99",)), "a module of the cluster's config was not loaded: see modules"),
    ):
        far.site = site
        ended = tick_until(run_far(experiment), "failed", "succeeded")
        assert ended.state == State.FAILED.value and words in ended.reason and "(slurm.log: " in ended.reason
