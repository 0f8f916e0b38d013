"""Processes stopped and killed: the run that goes on is the run that was never stopped, and can be replayed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.workers.trainings import ENVIRONMENT, lines, metrics, run_json, start, weights
from workers.records import Status
from workers.train import main

SLOW_REWARD = """
import sys, time
from workers import tasks, train

class Slow(tasks.TASKS["conciseness"]):
    asked = 0

    def score(self, example, completion):
        self.asked += 1
        # Near the moment of its signal, so slowly that it cannot reach its end before it hears of it.
        time.sleep(0.05 if self.asked > 168 else 0.003)
        return super().score(example, completion)

tasks.TASKS["conciseness"] = Slow
sys.exit(train.main(sys.argv[1:]))
"""
PROGRAM = ("-c", SLOW_REWARD)


def ended_by(number: signal.Signals, process: subprocess.Popen[str], at: str) -> int:
    """Signals the process once it has printed a line that begins so. Returns its exit code."""
    try:
        assert process.stdout is not None
        while not process.stdout.readline().startswith(at):
            assert process.poll() is None
        process.send_signal(number)
        process.communicate(timeout=600)
    finally:
        process.kill()
    return process.returncode


def replayed(root: Path, step: int, out: Path) -> str:
    """What the replay's command prints as the sha256, from the base model."""
    command = [sys.executable, "-m", "workers.engines.es.replay", str(root), "--step", str(step), "--out", str(out)]
    done = subprocess.run(
        [*command, "--from-base"], env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].removeprefix("sha256 ")


@pytest.mark.slow
@pytest.mark.usefixtures("signals_put_back")
def test_straight_is_killed_stopped_and_resumed_is_replayed(tmp_path: Path) -> None:
    es = {"iterations": 20, "checkpoint_every": 5, "population": 6, "prompts": 4, "noise": "full"}
    config = run_json(tmp_path, "es-micro", es=es, evaluation={"every": 10, "prompts": 4})
    straight, cut = tmp_path / "straight", tmp_path / "cut"
    assert main([str(config), "--out", str(straight)]) == 0

    with start(config, cut, program=PROGRAM) as process:
        assert ended_by(signal.SIGKILL, process, "step 8/") == -signal.SIGKILL
    with start(config, cut, program=PROGRAM) as process:
        assert ended_by(signal.SIGUSR1, process, "step 12/") == 75
    assert main([str(config), "--out", str(cut)]) == 0

    assert weights(cut, 2)[20] == weights(straight)[20] == replayed(cut, 20, tmp_path / "step-000020")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_asked_to_stop_while_it_loads_it_ends_at_once_and_can_be_started_again(
    tmp_path: Path, number: signal.Signals
) -> None:
    config, out = run_json(tmp_path, "grpo-micro"), tmp_path / "out"
    with start(config, out) as process:
        try:
            while not (out / "records.0.jsonl").exists():
                assert process.poll() is None
                time.sleep(0.01)
            time.sleep(0.2)
            process.send_signal(number)
            _, errors = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == 75, errors
    statuses = [line.record for line in lines(out) if isinstance(line.record, Status)]
    assert statuses[-1].phase == "saving"
    assert statuses[-1].message.startswith("stopped before there was anything to save")
    assert not (out / "checkpoints").exists()
    assert not metrics(out, "reward/mean")
