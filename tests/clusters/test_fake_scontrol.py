"""The other nodes of a job of Slurm, as a program in scontrol's place names them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from workers.config import ConfigError
from workers.config.run import ComputeConfig
from workers.engine_nodes.job import NODE_PROGRAM
from workers.engine_nodes.slurm_job import slurm_nodes

JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]", "SLURMD_NODENAME": "n1"}
SCONTROL = """\
#!/bin/sh
echo "$*" >> {folder}/asked
case "$*" in
  "show hostnames n[1-3]") printf 'n1\\nn2\\nn3\\n' ;;
  "--oneliner show node n2") echo "NodeName=n2 Arch=x86_64 NodeAddr=127.0.0.1 NodeHostName=localhost Port=1" ;;
  "--oneliner show node n2,n3") echo "NodeName=nosuch.invalid" ;;
  *) echo "scontrol: error: who is $*" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a scontrol on the PATH; return the file with the arguments that it got."""
    (tmp_path / "scontrol").write_text(SCONTROL.format(folder=tmp_path))
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "asked"


def test_other_nodes_are_started_by_srun(scontrol: Path, tmp_path: Path) -> None:
    others = slurm_nodes(tmp_path, ComputeConfig(nodes=2, cores=3, gpus=2, gpu_type="a100"), JOB)
    assert others is not None
    assert (others.count, others.hosts, others.peers) == (1, ("127.0.0.1",), {"127.0.0.1"})
    [launcher] = others.launchers
    assert list(launcher.argv) == [
        "srun", "--nodes=1", "--ntasks=1", "--nodelist=n2", "--cpus-per-task=3", "--gres=gpu:a100:2", "--overlap",
        "--export=ALL", "--job-name=node-1", sys.executable, "-m", NODE_PROGRAM, str(tmp_path), "--node=1",
    ]  # fmt: skip
    plain = slurm_nodes(tmp_path, ComputeConfig(nodes=2), JOB)
    assert plain is not None and not [word for word in plain.launchers[0].argv if "gres" in word]
    assert scontrol.read_text().splitlines()[:2] == ["show hostnames n[1-3]", "--oneliner show node n2"]


def test_missing_nodes_are_reported(scontrol: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"):
        assert slurm_nodes(tmp_path, ComputeConfig(nodes=2), _without(name)) is None
    for nodes, job, reason in (
        (4, JOB, "is 4, but this job of Slurm has 3: n1, n2, n3; submit it with --nodes"),
        (2, {**JOB, "SLURM_JOB_NODELIST": "x"}, "Slurm does not name the nodes of this job: scontrol: error: who is"),
        (3, JOB, "no address is known of n2, n3: see NodeAddr"),
    ):
        with pytest.raises(ConfigError) as error:
            slurm_nodes(tmp_path, ComputeConfig(nodes=nodes), job)
        assert f"compute.nodes: {reason}" in str(error.value)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match=r"compute\.nodes: Slurm does not name the nodes of this job: .*No such file"):
        slurm_nodes(tmp_path, ComputeConfig(nodes=2), JOB)


def _without(name: str) -> dict[str, str]:
    return {key: value for key, value in JOB.items() if key != name}
