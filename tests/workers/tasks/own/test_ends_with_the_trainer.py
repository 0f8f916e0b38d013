"""However the trainer ends, the process of the task ends with it, and all that it started."""

from __future__ import annotations

import os
import signal
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
import sys, threading, time
from workers.config import OwnOptions
from workers.tasks.own import Own

task = Own(OwnOptions("my_task:Task"), float(sys.argv[2]))
asked = [(task.examples("train")[0], sys.argv[1])]
threading.Thread(target=task.score_until_failure, args=[asked], daemon=True).start()
print(task._child.pid, flush=True)
sys.stdin.read(1)
"""
WAITS = f"""
import subprocess
sleeper = subprocess.Popen(['sleep', '{STAYS_SECONDS:.0f}'])
open({{!r}}, 'w').write(str(sleeper.pid))
"""


@pytest.fixture
def started(folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Trainers that this test started, killed with it."""
    trainers: list[subprocess.Popen[str]] = []
    yield trainers
    for trainer in trainers:
        trainer.kill()
        trainer.communicate()


def trainer_of(folder: Path, completion: str, started: list[subprocess.Popen[str]]) -> tuple[Process, int]:
    """A trainer that has just asked for this reward: (the process of its task, its own pid)."""
    write(folder, HANDS)
    environment = ENV | {"ESWEB_TASK_PATHS": str(folder)}
    trainer = subprocess.Popen(
        [sys.executable, "-c", TRAINER, completion, str(PATIENCE_SECONDS)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    started.append(trainer)
    assert trainer.stdout is not None
    child = Process.at(int(trainer.stdout.readline()))
    assert child is not None
    return child, trainer.pid


@pytest.mark.parametrize(
    "busy",
    ["", f"time.sleep({STAYS_SECONDS})", "while True: pass",
     f"signal.signal(15, signal.SIG_IGN)\ntime.sleep({STAYS_SECONDS})",
     "sum(range(10**12))", "os.kill(os.getpid(), signal.SIGSTOP)"],
    ids=["idle", "asleep", "spinning", "deaf", "in C", "stopped"],
)  # fmt: skip
def test_a_trainer_that_is_killed_leaves_no_process(
    folder: Path, started: list[subprocess.Popen[str]], tmp_path: Path, busy: str
) -> None:
    note = tmp_path / "sleeper"
    child, trainer = trainer_of(folder, WAITS.format(str(note)) + busy, started)
    sleeper = Process.at(
        int(wait_until(lambda: note.exists() and note.read_text(), "the reward to start its own program"))
    )
    assert sleeper is not None and child.is_alive()
    os.kill(trainer, signal.SIGKILL)
    wait_until(lambda: not child.is_alive(), "the process of the task to die with its trainer")
    wait_until(lambda: not sleeper.is_alive(), "the program of the reward to die with the trainer")


def test_a_task_that_is_thrown_away_takes_its_process_along(folder: Path) -> None:
    write(folder, HANDS)
    task = own()
    assert task._child is not None
    process = Process.at(task._child.pid)
    assert process is not None and process.is_alive()
    del task
    assert not process.is_alive()


def test_a_closed_task_begins_again_when_it_is_asked(folder: Path) -> None:
    write(folder, HANDS)
    task = own()
    task.close()
    assert task.score(task.examples("train")[0], "").reward == 1.5
    task.close()


def test_ending_twice_is_ending_once(folder: Path) -> None:
    child = Child()
    child.end()
    child.end()
