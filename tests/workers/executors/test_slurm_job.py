"""What sbatch is told: no user's text for a shell to read, nothing of our environment, time to save."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from workers.executors.base import NotBegun, Rejected, Spec, Unreachable
from workers.executors.shell import LocalShell
from workers.executors.slurm import Site, Slurm
from workers.executors.slurm.job import SCRIPT, sbatch_argv


def spec(directory: Path, **needs: object) -> Spec:
    return Spec("esweb-x-a1", directory, ("python", "-m", "workers.train"), **needs)  # type: ignore[arg-type]


def test_a_job_is_told_by_arguments_alone(tmp_path: Path) -> None:
    site = Site(partition="gpu", account="lab", gpu_type="a100", modules=("cuda/12.4",), env={"HF_HOME": "/a b;$(x)"})
    argv = sbatch_argv(site, spec(tmp_path, cores=4, gpus=2, memory_mb=500, time_limit_seconds=600))
    said = argv[: argv.index(str(tmp_path / "job.sh"))]
    for option in ("--job-name=esweb-x-a1", "--export=NIL", "--no-requeue", "--dependency=singleton", "--partition=gpu",
                   "--account=lab", "--gres=gpu:a100:2", "--cpus-per-task=4", "--mem=500M", "--signal=B:USR1@30",
                   "--open-mode=append", "--time=13"):  # fmt: skip
        assert option in said
    assert argv[argv.index(str(tmp_path / "job.sh")) + 1 :][:3] == ["cuda/12.4", "--", "/usr/bin/env"]
    assert "HF_HOME=/a b;$(x)" in argv and argv[-3:] == ["-m", "workers.agent", str(tmp_path)]


def test_what_is_left_to_slurm_is_not_said(tmp_path: Path) -> None:
    argv = sbatch_argv(Site(), spec(tmp_path))
    assert not [a for a in argv if a.startswith(("--partition", "--account", "--qos", "--time", "--mem", "--gres"))]
    assert "--time=2" in sbatch_argv(Site(time_limit_seconds=90), spec(tmp_path))


def test_the_script_takes_no_argument_for_a_command(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(SCRIPT)
    bad = f"$(touch {tmp_path}/x);`touch {tmp_path}/x`"
    bash = 'module() { echo "loads <$2>"; }; export -f module; exec bash "$@"'
    said = subprocess.run(
        ["bash", "-c", bash, "-", script, bad, "--", "echo", bad, "*"], capture_output=True, text=True, check=True
    ).stdout
    assert said == f"loads <{bad}>\n{bad} * --epoch 0\n" and not (tmp_path / "x").exists()


def test_our_environment_does_not_reach_slurms_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "planted")
    monkeypatch.setenv("SBATCH_PARTITION", "high")
    said = LocalShell({"SLURM_CONF": "/x"}).run(["env"], PATIENCE_SECONDS).out
    assert "planted" not in said and "SBATCH" not in said and "SLURM_CONF=/x" in said


def test_what_cannot_be_asked_is_unreachable_and_what_was_sent_is_unclear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    far = Slurm(Site(), tmp_path)
    for ask in (lambda: far.poll(["a"]), lambda: far.find("a"), lambda: far.cancel("a", 1.0)):
        with pytest.raises(Unreachable, match="cannot be run"):
            ask()
    with pytest.raises(NotBegun):
        far.submit(spec(tmp_path / "a"))
    with pytest.raises(Unreachable, match="sleep gave no answer in"):
        LocalShell().run(["/bin/sleep", f"{PATIENCE_SECONDS:.0f}"], 0.2)


@pytest.mark.parametrize("key", ["a;b", "$(x)", "-a", "a b", "../a", "a\n"])
def test_a_hostile_key_is_refused_before_anything_is_written(tmp_path: Path, key: str) -> None:
    with pytest.raises(Rejected, match="is no key"):
        Slurm(Site(), tmp_path).submit(Spec(key, tmp_path / "job", ("true",)))
    assert not (tmp_path / "job").exists()
