"""The arguments of sbatch: no user's text for a shell to read, no environment of esweb, time to save."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.waiting import PATIENCE_SECONDS
from workers.executors.base import NodeShape, NotBegun, Rejected, Spec, Unreachable
from workers.executors.shell import LocalShell
from workers.executors.slurm import Site, Slurm
from workers.executors.slurm.inventory import parse_nodes
from workers.executors.slurm.job import NEVER, SCRIPT, array_argv, array_name, naming_commands, sbatch_argv


def spec(directory: Path, **needs: object) -> Spec:
    return Spec("esweb-x-a1", directory, ("python", "-m", "workers.train"), **needs)  # type: ignore[arg-type]


def test_sbatch_gets_job_as_arguments(tmp_path: Path) -> None:
    site = Site(partition="gpu", account="lab", gpu_type="a100", modules=("cuda/12.4",), env={"HF_HOME": "/a b;$(x)"})
    argv = sbatch_argv(site, spec(tmp_path, cores=4, gpus=2, memory_mb=500, time_limit_seconds=600))
    options = argv[: argv.index(str(tmp_path / "job.sh"))]
    for option in ("--job-name=esweb-x-a1", "--export=NIL", "--no-requeue", "--dependency=singleton", "--partition=gpu",
                   "--account=lab", "--gres=gpu:a100:2", "--cpus-per-task=4", "--mem=500M", "--signal=B:USR1@30",
                   "--open-mode=append", "--time=13"):  # fmt: skip
        assert option in options
    assert argv[argv.index(str(tmp_path / "job.sh")) + 1 :][:3] == ["cuda/12.4", "--", "/usr/bin/env"]
    assert "HF_HOME=/a b;$(x)" in argv and argv[-3:] == ["-m", "workers.agent", str(tmp_path)]


def test_job_on_several_nodes_requests_each_alike(tmp_path: Path) -> None:
    argv = sbatch_argv(Site(gpu_type="a100"), spec(tmp_path, nodes=3, cores=2, gpus=4, gpu_type="h100"))
    assert {"--nodes=3", "--ntasks-per-node=1", "--cpus-per-task=2", "--gres=gpu:h100:4", "--no-kill"} < set(argv)
    assert "--nodes=1" in (single := sbatch_argv(Site(), spec(tmp_path))) and "--no-kill" not in single


def test_nodes_are_parsed_by_partition_and_type() -> None:
    text = "gpu|64|515000|gpu:a100:4(S:0-1)\ngpu|64|515000|gpu:a100:4\ncpu|16+|64000+|(null)\n"
    text += "mix|8|1|gpu:t4:1,gpu:l4:2,lic:3\n"
    assert parse_nodes(text) == [
        NodeShape(2, 64, 515000, 4, "a100", "gpu"),
        NodeShape(1, 16, 64000, 0, "", "cpu"),
        NodeShape(1, 8, 1, 1, "t4", "mix"),
        NodeShape(1, 8, 1, 2, "l4", "mix"),
    ]
    assert parse_nodes("main|4|4000|gpu:2\n") == [NodeShape(1, 4, 4000, 2, "", "main")]
    with pytest.raises(ValueError, match="not enough values"):
        parse_nodes("slurm_load_partitions: no answer")


def test_sbatch_arguments_omit_defaults(tmp_path: Path) -> None:
    argv = sbatch_argv(Site(), spec(tmp_path))
    assert not [a for a in argv if a.startswith(("--partition", "--account", "--qos", "--time", "--mem", "--gres"))]
    assert "--time=2" in sbatch_argv(Site(time_limit_seconds=90), spec(tmp_path))


def test_job_script_executes_no_argument(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(SCRIPT)
    bad = f"$(touch {tmp_path}/x);`touch {tmp_path}/x`"
    bash = 'module() { echo "loads <$2>"; }; export -f module; exec bash "$@"'
    output = subprocess.run(
        ["bash", "-c", bash, "-", script, bad, "--", "echo", bad, "*"], capture_output=True, text=True, check=True
    ).stdout
    assert output == f"loads <{bad}>\n{bad} * --epoch 0\n" and not (tmp_path / "x").exists()


def run_script(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the job's script in that folder, with a module command that knows no module `nosuch`."""
    (folder / "job.sh").write_text(SCRIPT)
    bash = 'module() { [ "$2" != nosuch ]; }; export -f module; exec bash "$@"'
    return subprocess.run(
        ["bash", "-c", bash, "-", folder / "job.sh", *arguments], cwd=folder, env={"PATH": os.defpath, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_job_script_starts_an_array_task_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "1").symlink_to(tmp_path / "run")
    done = run_script(
        tmp_path, "--", "/bin/sh", "-c", 'echo "$PWD $*"', "-", SLURM_ARRAY_TASK_ID="1", SLURM_RESTART_COUNT="2"
    )
    assert done.stdout == f"{tmp_path}/run {tmp_path}/run --epoch 2\n"


def test_job_script_names_what_is_missing(tmp_path: Path) -> None:
    for arguments, variables, reason in (
        (["nosuch", "--", "echo", "started"], {}, "esweb job: the module nosuch was not loaded\n"),
        (["--", "echo", "started"], {"SLURM_ARRAY_TASK_ID": "7"}, "esweb job: its directory is not there\n"),
    ):
        done = run_script(tmp_path, *arguments, **variables)
        assert (done.returncode, done.stdout) == (78, "") and done.stderr.endswith(reason)


def test_array_begins_under_the_names_of_its_tasks(tmp_path: Path) -> None:
    specs = [spec(tmp_path / str(n), gpus=1) for n in range(3)]
    argv = array_argv(Site(partition="gpu"), specs, array_name("esweb-x-a1"), tmp_path / "50%")
    options = set(argv[: argv.index(str(tmp_path / "0" / "job.sh"))])
    assert {"--job-name=esweb-x-a1-array", "--array=0-2", f"--begin={NEVER}", f"--chdir={tmp_path}/50%"} < options
    assert {f"--output={tmp_path}/50%%/%a/slurm.log", "--partition=gpu", "--gres=gpu:1", "--export=NIL"} < options
    assert argv[-2:] == ["-m", "workers.agent"]
    assert naming_commands("7", ["a", "b"]) == (
        "update JobId=7_0 JobName=a StartTime=now\nupdate JobId=7_1 JobName=b StartTime=now\n"
    )


def test_slurm_commands_get_no_environment_of_esweb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "planted")
    monkeypatch.setenv("SBATCH_PARTITION", "high")
    output = LocalShell({"SLURM_CONF": "/x"}).run(["env"], PATIENCE_SECONDS).out
    assert "planted" not in output and "SBATCH" not in output and "SLURM_CONF=/x" in output


def test_missing_slurm_commands_are_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    slurm = Slurm(Site(), tmp_path)
    for ask in (lambda: slurm.poll(["a"]), lambda: slurm.find("a"), lambda: slurm.cancel("a", 1.0)):
        with pytest.raises(Unreachable, match="cannot be run"):
            ask()
    with pytest.raises(NotBegun):
        slurm.submit(spec(tmp_path / "a"))
    with pytest.raises(Unreachable, match="sleep did not answer within"):
        LocalShell().run(["/bin/sleep", f"{PATIENCE_SECONDS:.0f}"], 0.2)


@each_case("key", ["a;b", "$(x)", "-a", "a b", "../a", "a\n"])
def test_hostile_key_is_refused_without_side_effects(tmp_path: Path, key: str) -> None:
    with pytest.raises(Rejected, match="is not a valid key"):
        Slurm(Site(), tmp_path).submit(Spec(key, tmp_path / "job", ("true",)))
    assert not (tmp_path / "job").exists()
