"""The task's process and all that it started end with the trainer, however the trainer ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import ENV, STAYS_SECONDS
from tests.workers.tasks.own.files import HANDS, own, write
from workers.attempt import Process
from workers.tasks.own.process import Child

TRAINER = """
import sys, threading
from workers.config import OwnOptions
from workers.tasks.own import OwnTask

tasks = []
for completion in sys.argv[2:]:
    task = OwnTask(OwnOptions("my_task:Task"), float(sys.argv[1]))
    tasks.append(task)
    asked = [(task.examples("train")[0], completion)]
    threading.Thread(target=task.score_until_failure, args=[asked], daemon=True).start()
    print(task._child.pid, flush=True)
sys.stdin.read(1)
"""
WAITS = f"""
import subprocess
sleeper = subprocess.Popen(['sleep', '{STAYS_SECONDS:.0f}'])
open({{!r}}, 'w').write(str(sleeper.pid))
"""
BUSY = {
    "idle": "",
    "deaf, in C": "signal.signal(15, signal.SIG_IGN)\nsum(range(10**12))",
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
}


@pytest.fixture
def trainer(folder: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield a trainer that has requested each reward of BUSY, which starts a program of its own."""
    write(folder, HANDS)
    completions = [WAITS.format(str(tmp_path / name)) + busy for name, busy in BUSY.items()]
    with subprocess.Popen(
        [sys.executable, "-c", TRAINER, str(PATIENCE_SECONDS), *completions],
        env=ENV | {"ESWEB_TASK_PATHS": str(folder)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as trainer:  # fmt: skip
        yield trainer
        trainer.kill()


def test_killed_trainer_leaves_no_process(trainer: subprocess.Popen[str], tmp_path: Path) -> None:
    assert trainer.stdout is not None
    left = {f"the task {name}": Process.at(int(trainer.stdout.readline())) for name in BUSY}
    left |= {f"the program of the task {name}": Process.at(_noted(tmp_path / name)) for name in BUSY}
    assert all(process is not None and process.is_alive() for process in left.values())
    trainer.kill()
    for name, process in left.items():
        assert process is not None
        wait_until(lambda process=process: not process.is_alive(), f"{name} to die with the trainer")


def _noted(note: Path) -> int:
    """Return the pid that a reward wrote, once it is there."""
    return int(wait_until(lambda: note.exists() and note.read_text(), "the reward to start its own program"))


def test_deleted_task_ends_its_process(folder: Path) -> None:
    write(folder, HANDS)
    task = own()
    assert task._child is not None
    process = Process.at(task._child.pid)
    assert process is not None and process.is_alive()
    del task
    assert not process.is_alive()


def test_child_may_be_ended_twice(folder: Path) -> None:
    child = Child()
    child.end()
    child.end()
