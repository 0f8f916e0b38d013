"""Nothing secret reaches a job, and no word of a config or a run reaches a shell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runs import launching
from runs.models import Cluster, Experiment
from tests.clusters.far_slurm import OVER_SSH, Far, await_end, run_far, there
from tests.clusters.slurm import SlurmCluster
from tests.runs.local_cluster import attempt_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import python
from workers.executors.base import Rejected, Spec
from workers.executors.slurm import Site
from workers.executors.states import State

BARE = str(Path(sys.base_prefix) / "bin" / "python3")
"""An interpreter in which esweb is not installed."""
SHOWS_ENV = "import os; open('env', 'w').write(repr(dict(os.environ)))"
FIELDS = ("partition", "account", "qos", "constraint", "gpu_type")
WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"modules": ("cuda/99",)}, "a module of the cluster's config was not loaded: see modules"),
    ({"python": "/opt/none/python"}, "the node has no such interpreter: see python in the cluster's config"),
    (
        {"python": BARE, "project": "/opt/none"},
        "the node does not see esweb's code: see project in the cluster's config",
    ),
)
"""What is wrong in a site's config, and what the run that fails by it says."""


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
    ended = await_end(run_far(experiment, gpus=1, partition="short"), "succeeded", "failed")
    assert ended.state == State.SUCCEEDED.value
    seen = (there(ended) / "env").read_text()
    assert "sown-in" not in seen and "DJANGO_SECRET" not in seen
    assert "'HF_HOME': '/shared/hf'" in seen and "'CUDA_VISIBLE_DEVICES': '" in seen
    assert "'SLURM_JOB_PARTITION': 'short'" in seen
    for file in there(ended).rglob("*"):
        assert not file.is_file() or b"sown-in" not in file.read_bytes()
    assert "sown-in" not in slurm.ask("scontrol", "show", "job", ended.native_id)


@pytest.mark.parametrize(
    ("reached", "fields"), [("here", FIELDS), ("ssh", ("qos",))], ids=["here", "ssh"], indirect=["reached"]
)
def test_a_hostile_word_is_refused_by_slurm_and_read_by_no_shell(
    far: Far, slurm: SlurmCluster, tmp_path: Path, fields: tuple[str, ...]
) -> None:
    # What an administrator's form refuses, had it come in by another way.
    word = f"main;touch${{IFS}}{tmp_path}/x $(touch {tmp_path}/x)"
    for field in fields:
        hostile = Far(slurm.conf, tmp_path / "queue", far.place, **{field: word})
        spec = Spec(f"esweb-{field}-a1", tmp_path / "runs" / field, tuple(python("pass")), gpus=1)
        try:
            hostile.submit(spec)
        except Rejected as refused:
            assert "\n" not in str(refused), field
        assert not (tmp_path / "x").exists(), field


@OVER_SSH
def test_hostile_modules_variables_and_folders_are_words_to_the_job(
    far: Far, slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    bad = f"$(touch {tmp_path}/x);`touch {tmp_path}/x`"
    far.site, far.program = replace(far.site, env={"NOTE": bad}), SHOWS_ENV
    spec = Spec(f"esweb-{tmp_path.name}-a1", tmp_path / "runs" / "a %j $(touch x) b", tuple(python("pass")))
    directory = Path(far.place.there(spec.directory))
    far.submit(spec)
    far.site = replace(far.site, env={}, modules=(bad,))
    other = Spec(f"esweb-{tmp_path.name}-a2", tmp_path / "runs" / "other", tuple(python("pass")))
    far.submit(other)
    wait_until((directory / "exit.json").exists, "the program to end")
    wait_until(lambda: (seen := far.find(spec.key)) and seen.state == State.SUCCEEDED, "the job to succeed")
    seen = (directory / "env").read_text()
    assert repr(bad) in seen and "sown-in" not in seen
    assert (directory / "slurm.log").exists()
    wait_until(lambda: (seen := far.find(other.key)) and seen.state == State.FAILED, "the job to fail")
    assert not list(tmp_path.rglob("x"))


@pytest.mark.parametrize(
    ("reached", "wrong"),
    [("here", WRONG), ("ssh", WRONG[:1])],
    ids=["here", "ssh"],
    indirect=["reached"],
)
def test_a_wrong_interpreter_and_a_missing_module_are_named(
    experiment: Experiment, far: Far, wrong: Sequence[tuple[dict[str, Any], str]]
) -> None:
    runs, right = [], far.site
    for site, _ in wrong:
        far.site = replace(right, **site)
        runs.append(run_far(experiment))
        launching.submit_job(attempt_of(runs[-1]))
    for run, (_, words) in zip(runs, wrong, strict=True):
        ended = tick_until(run, "failed", "succeeded")
        assert ended.state == State.FAILED.value and words in ended.reason and "(slurm.log: " in ended.reason
