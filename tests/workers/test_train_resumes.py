"""Processes stopped and killed: a resumed run equals the run that was never stopped, and can be replayed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import STAYS_SECONDS
from tests.workers.training_process import lines, metrics, run_json, start, weights, working_folder
from workers.engines.es import replay
from workers.records import Status
from workers.train import main

TWO_ATTEMPTS = """
import os, sys, time
from pathlib import Path
sys.modules["django"] = None
import workers.engines.es, workers.evaluation, workers.models
from workers import tasks, train

class Held(tasks.TASKS["conciseness"]):
    asked = 0

    def score(self, example, completion):
        self.asked += 1
        while self.asked > HELD_FROM and not Path("go").exists() and os.getppid() == parent:
            time.sleep(0.01)
        return super().score(example, completion)

tasks.TASKS["conciseness"] = Held
first = os.fork()
if first:
    assert os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) == -9
parent = os.getppid()
print("attempt", os.getpid(), flush=True)
sys.exit(train.main(sys.argv[1:]))
"""
"""The same training in two processes, the second as soon as the first was killed, where Django is not installed.

They share what they have imported.
"""
HELD_FROM = 150
"""A step computes 7 x 4 rewards, an evaluation 4: step 5 of the first start and step 8 of the second, which begins
with step 4, come before this number, and the end comes long after it."""
PROGRAM = ("-c", TWO_ATTEMPTS.replace("HELD_FROM", str(HELD_FROM)))
ES = {"iterations": 12, "checkpoint_every": 3, "population": 6, "prompts": 4, "noise": "full"}
LOADS_FOR_EVER = f"""
import sys, time
from pathlib import Path
from workers import train

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            Path("loading").touch()
            time.sleep({STAYS_SECONDS})

sys.meta_path.insert(0, Finder())
sys.exit(train.main(sys.argv[1:]))
"""


def attempt_at(line: str, process: subprocess.Popen[str]) -> int:
    """Return the pid of the next attempt of TWO_ATTEMPTS, once it has printed a line that begins with `line`."""
    assert process.stdout is not None
    words = process.stdout.readline().split()
    assert words and words[0] == "attempt", words
    while not process.stdout.readline().startswith(line):
        assert process.poll() is None
    return int(words[1])


def replayed(root: Path, step: int, out: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the replay's command prints as the sha256, from the base model."""
    capsys.readouterr()
    assert replay.main([str(root), "--step", str(step), "--out", str(out), "--from-base"]) == 0
    return capsys.readouterr().out.splitlines()[-1].removeprefix("sha256 ")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve iterations of ES, saved after every third."""
    return run_json(tmp_path_factory.mktemp("es"), "es-micro", es=ES, evaluation={"every": 6, "prompts": 4})


@pytest.fixture(scope="module")
def cut(config: Path) -> Path:
    """Return the directory of a run that was killed, started again and stopped."""
    out = config.with_name("cut")
    with start(config, out, program=PROGRAM) as process:
        try:
            os.kill(attempt_at("step 5/", process), signal.SIGKILL)
            os.kill(attempt_at("step 8/", process), signal.SIGUSR1)
            (working_folder(out) / "go").touch()
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 75, errors
    return out


@pytest.mark.slow
@pytest.mark.usefixtures("restored_signals")
def test_straight_resumed_and_replayed_weights_are_equal(
    config: Path, cut: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    straight, out = tmp_path / "straight", cut
    assert main([str(config), "--out", str(straight)]) == 0
    assert main([str(config), "--out", str(out)]) == 0
    assert weights(out, 2)[12] == weights(straight)[12] == replayed(out, 12, tmp_path / "step-000012", capsys)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_run_stopped_while_loading_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    config, out = run_json(tmp_path, "grpo-micro"), tmp_path / "out"
    with start(config, out, program=("-c", LOADS_FOR_EVER)) as process:
        try:
            loading = working_folder(out) / "loading"
            wait_until(lambda: loading.exists() or process.poll() is not None, "the training to import torch")
            process.send_signal(number)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 75, errors
    statuses = [line.record for line in lines(out) if isinstance(line.record, Status)]
    assert statuses[-1].phase == "saving"
    assert statuses[-1].message.startswith("stopped before there was anything to save")
    assert not (out / "checkpoints").exists()
    assert not metrics(out, "reward/mean")
