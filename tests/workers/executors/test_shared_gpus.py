"""Jobs on GPUs of this machine that they share: real agents, with GPUs that only their names stand for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.workers.attempts import RUNS_LONG
from tests.workers.gpus.mps_program import CONTROL, put_program
from workers.attempt import read_json
from workers.executors.base import Spec
from workers.executors.local import Local
from workers.executors.local.gpu_use import own_processes
from workers.executors.states import State
from workers.gpus import Card

Job = Callable[..., Spec]
CARD = Card("GPU-a", 0, "NVIDIA H200", 100_000)
SAYS = (
    "import os\n"
    "names = ('CUDA_VISIBLE_DEVICES', 'CUDA_MPS_PIPE_DIRECTORY')\n"
    "print('sees', *(os.environ.get(name, '-') for name in names), flush=True)\n"
)
UNTIL_RELEASED = SAYS + "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Local]:
    local = machine_with(tmp_path, CARD)
    yield local
    local.interrupt(0.0)


def machine_with(folder: Path, *cards: Card) -> Local:
    """Return the same machine with these GPUs, as a later process of esweb sees it."""
    return Local(folder / "queue", cores=8, gpus=cards, beat_seconds=0.02)


def states_of(machine: Local, *keys: str) -> list[State]:
    return [seen.state for seen in machine.poll(keys).values() if seen]


def reason_of(machine: Local, key: str) -> str:
    seen = machine.poll([key])[key]
    assert seen is not None and seen.state == State.QUEUED, seen
    return seen.reason


def words_of(spec: Spec) -> list[str]:
    """Return what the job printed of its environment: its GPUs, and the folder of their service."""
    log = spec.directory / "log.txt"
    lines = log.read_text().splitlines() if log.exists() else []
    return next((line.split()[1:] for line in lines if line.startswith("sees ")), [])


def release(machine: Local, *specs: Spec) -> None:
    for spec in specs:
        (spec.directory / "go").touch()
    keys = [spec.key for spec in specs]
    wait_until(lambda: set(states_of(machine, *keys)) == {State.SUCCEEDED}, "the jobs to succeed")


def test_jobs_share_gpu_until_their_shares_are_used_up(machine: Local, job: Job) -> None:
    jobs = [job(key, UNTIL_RELEASED, gpus=gpus) for key, gpus in (("a", 0.5), ("b", 0.25), ("c", 0.5), ("d", 0.25))]
    for spec in jobs:
        machine.submit(spec)
    assert states_of(machine, "a", "b") == [State.RUNNING] * 2
    assert reason_of(machine, "c") == "waiting for 0.5 of a GPU: 0.75 of 1 in use"
    assert reason_of(machine, "d").endswith("1 ahead in the queue"), "it does not overtake"
    release(machine, jobs[0])
    wait_until(lambda: states_of(machine, "c", "d") == [State.RUNNING] * 2, "the other two to start")
    assert words_of(jobs[1])[0] == "GPU-a"


def test_gpu_that_disappeared_leaves_its_jobs_waiting(machine: Local, job: Job, tmp_path: Path) -> None:
    machine.submit(job("holds", UNTIL_RELEASED, gpus=1))
    for key, gpus in (("whole", 1), ("shared", 0.5)):
        machine.submit(job(key, RUNS_LONG, gpus=gpus))
    without = machine_with(tmp_path)
    assert reason_of(without, "whole") == "waiting for 1 GPU: this machine offers none now"
    without.submit(job("cpu", RUNS_LONG))
    without.submit(job("late", RUNS_LONG, gpus=1))
    assert states_of(without, "holds", "cpu") == [State.RUNNING] * 2, "jobs without GPUs go on"
    assert states_of(without, "shared", "late") == [State.QUEUED] * 2
    release(without, job("holds", ""))
    again = machine_with(tmp_path, CARD)
    wait_until(lambda: states_of(again, "whole") == [State.RUNNING], "the first to get the GPU that is back")
    assert states_of(again, "shared", "late") == [State.QUEUED] * 2, "and the others wait in their order"


def test_job_that_fails_without_its_gpu_has_lost_it(machine: Local, job: Job, tmp_path: Path) -> None:
    fails = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)\nraise SystemExit(1)"
    spec = job("a", fails, gpus=1)
    machine.submit(spec)
    (spec.directory / "go").touch()
    without = machine_with(tmp_path)
    wait_until(lambda: states_of(without, "a") == [State.NODE_LOST], "the end of the job to be recorded")
    seen = without.find("a")
    assert seen and (seen.native, seen.reason) == ("exit 1", "its GPU has disappeared")


def test_gpu_that_others_fill_leaves_jobs_waiting(machine: Local, job: Job, tmp_path: Path) -> None:
    full = machine_with(tmp_path, replace(CARD, used_mb=95_000, process_mb={os.getpid(): 94_000}))
    full.submit(job("large", RUNS_LONG, gpus=0.2, gpu_memory_mb=20_000))
    assert reason_of(full, "large") == (
        "waiting for 18400 MB of GPU memory: other programs hold 95000 of the 100000 MB of GPU 0"
    )
    assert states_of(machine, "large") == [State.RUNNING]


def test_memory_of_running_job_is_its_own(machine: Local, job: Job, tmp_path: Path) -> None:
    spec = job("a", RUNS_LONG, gpus=0.2, gpu_memory_mb=20_000)
    machine.submit(spec)
    wait_until((spec.directory / "heartbeat.json").exists, "the heartbeat that names the program")
    program = (read_json(spec.directory / "heartbeat.json") or {})["pid"]
    used = machine_with(tmp_path, replace(CARD, used_mb=20_000, process_mb={program: 19_000}))
    used.submit(job("b", RUNS_LONG, gpus=0.8, gpu_memory_mb=80_000))
    assert states_of(used, "a", "b") == [State.RUNNING] * 2


def test_processes_of_another_namespace_are_not_compared() -> None:
    assert own_processes([os.getpid()], [2**22 + 7]) is None
    assert own_processes([os.getppid()], [os.getpid(), 2**22 + 7]) == {os.getpid(), 2**22 + 7}, "one has ended"
    assert own_processes([os.getpid()], [os.getppid()]) == set()


def test_service_lives_from_first_shared_job_to_last(
    machine: Local, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, CONTROL, monkeypatch)
    es = [job(key, UNTIL_RELEASED, gpus=0.25, runs_concurrently=True) for key in ("first", "last")]
    grpo = job("grpo", UNTIL_RELEASED, gpus=0.25)
    for spec in (*es, grpo):
        machine.submit(spec)
    wait_until(lambda: all(map(words_of, (*es, grpo))), "the jobs to print their environment")
    (devices, pipe), outside = words_of(es[0]), words_of(grpo)
    assert (devices, words_of(es[1])) == ("GPU-a", [devices, pipe])
    assert outside == ["GPU-a", "-"], "a crash of one client would end it, too"
    assert Path(pipe, "started").read_text() == "GPU-a\n"

    release(machine_with(tmp_path, CARD), es[0], grpo)
    assert Path(pipe).exists(), "another process of esweb leaves the service to the other job"
    release(machine, es[1])
    assert not Path(pipe).exists()


def test_service_of_killed_process_is_ended(
    machine: Local, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, CONTROL, monkeypatch)
    spec = job("a", UNTIL_RELEASED, gpus=0.25, runs_concurrently=True)
    monkeypatch.setattr("workers.executors.local.mps_services.asdict", _be_killed)
    with pytest.raises(KeyboardInterrupt):
        machine.submit(spec)
    monkeypatch.undo()
    put_program(tmp_path, CONTROL, monkeypatch)
    (folder,) = {record["folder"] for record in (read_json(machine.root / "mps.json") or {}).values()}
    assert Path(folder, "pipe", "started").exists(), "it runs, and nobody knows its process"
    wait_until(lambda: states_of(machine, "a") == [State.RUNNING] and words_of(spec), "the job to start")
    assert not Path(folder).exists()
    assert words_of(spec)[1] not in ("-", f"{folder}/pipe")


@pytest.mark.parametrize("program", [None, "#!/bin/sh\nexit 3\n"], ids=["there is none", "it fails"])
def test_machine_without_service_runs_jobs_in_turns(
    machine: Local, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None
) -> None:
    # The machine of the tests may have the real one.
    monkeypatch.setenv("PATH", str(tmp_path))
    if program is not None:
        put_program(tmp_path, program, monkeypatch)
    spec = job("a", UNTIL_RELEASED, gpus=0.25, runs_concurrently=True)
    machine.submit(spec)
    wait_until(lambda: words_of(spec) == ["GPU-a", "-"], "the job to start without the service")


def _be_killed(_: object) -> None:
    raise KeyboardInterrupt
