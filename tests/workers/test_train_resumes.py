"""Processes stopped and killed: the run that goes on is the run that was never stopped, and can be replayed."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import STAYS_SECONDS
from tests.workers.trainings import lines, metrics, run_json, start, weights, working_folder
from workers.engines.es import replay
from workers.records import Status
from workers.train import main

HELD_REWARD = """
import sys, time
from pathlib import Path
from workers import tasks, train

class Held(tasks.TASKS["conciseness"]):
    asked = 0

    def score(self, example, completion):
        self.asked += 1
        while self.asked > HELD_FROM and not Path("go").exists():
            time.sleep(0.01)
        return super().score(example, completion)

tasks.TASKS["conciseness"] = Held
sys.exit(train.main(sys.argv[1:]))
"""
HELD_FROM = 150
"""A step asks for 7 x 4 rewards, an evaluation for 4: step 5 of the first start and step 8 of the second, which begins
with step 4, come before this number, and the end comes long after it."""
PROGRAM = ("-c", HELD_REWARD.replace("HELD_FROM", str(HELD_FROM)))
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


def ended_by(number: signal.Signals, process: subprocess.Popen[str], at: str, out: Path) -> int:
    """Signal the process once it has printed a line that begins with `at`, and let its reward go on.

    Return its exit code.
    """
    try:
        assert process.stdout is not None
        while not process.stdout.readline().startswith(at):
            assert process.poll() is None
        process.send_signal(number)
        (working_folder(out) / "go").touch()
        process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    return process.returncode


def replayed(root: Path, step: int, out: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the replay's command prints as the sha256, from the base model."""
    capsys.readouterr()
    assert replay.main([str(root), "--step", str(step), "--out", str(out), "--from-base"]) == 0
    return capsys.readouterr().out.splitlines()[-1].removeprefix("sha256 ")


@pytest.mark.slow
@pytest.mark.usefixtures("signals_put_back")
def test_straight_is_killed_stopped_and_resumed_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    es = {"iterations": 12, "checkpoint_every": 3, "population": 6, "prompts": 4, "noise": "full"}
    config = run_json(tmp_path, "es-micro", es=es, evaluation={"every": 6, "prompts": 4})
    straight, cut = tmp_path / "straight", tmp_path / "cut"
    assert main([str(config), "--out", str(straight)]) == 0

    with start(config, cut, program=PROGRAM) as process:
        assert ended_by(signal.SIGKILL, process, "step 5/", cut) == -signal.SIGKILL
    (working_folder(cut) / "go").unlink()
    with start(config, cut, program=PROGRAM) as process:
        assert ended_by(signal.SIGUSR1, process, "step 8/", cut) == 75
    assert main([str(config), "--out", str(cut)]) == 0

    assert weights(cut, 2)[12] == weights(straight)[12] == replayed(cut, 12, tmp_path / "step-000012", capsys)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_asked_to_stop_while_it_loads_it_ends_at_once_and_can_be_started_again(
    tmp_path: Path, number: signal.Signals
) -> None:
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
