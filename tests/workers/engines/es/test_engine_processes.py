"""Engines as the scheduler sees them: processes that end with the training, however it ends.

The first test starts the training and its engine from nothing. In all others of this package, they are forks.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.forked import Fork
from tests.workers.training_process import ENVIRONMENT, records, run_json, start, train_here, weights
from workers.client.processes import tree
from workers.records import Engines

ES = {"engines": 2, "rows": 16, "population": 6, "checkpoint_every": 0}


def steps(out: Path) -> int:
    """Return the updates in the replay log."""
    log = out / "replay.jsonl"
    return log.read_bytes().count(b'"parent"') if log.exists() else 0


def descendants(process: subprocess.Popen[str]) -> list[int]:
    return [stat.pid for stat in tree(process.pid) if stat.pid != process.pid]


def has_trained(out: Path, process: subprocess.Popen[str]) -> bool:
    assert process.poll() is None, process.communicate()
    return steps(out) >= 3


def test_sigterm_to_all_processes_saves_resumable_checkpoint(tmp_path: Path) -> None:
    out, straight = tmp_path / "out", tmp_path / "straight"
    config = run_json(tmp_path, "es-micro", es=ES | {"iterations": 100_000}, evaluation={"every": 0})
    with start(config, out) as process:
        wait_until(lambda: has_trained(out, process), "the first iterations")
        engines = descendants(process)
        for pid in (process.pid, *engines):
            os.kill(pid, signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 75, errors
    assert len(engines) == 1
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in engines), "the engine to end")
    ((step, _),) = weights(out).items()

    further = {"iterations": step + 2, "engines": 1}
    config = run_json(tmp_path, "es-micro", es=ES | further, evaluation={"every": 0})
    for directory in (out, straight):
        code, output = train_here(config, directory)
        assert code == 0, output
    assert weights(out, epoch=1)[step + 2] == weights(straight)[step + 2]


def test_engines_of_a_run_in_its_own_folder_answer_and_resume(tmp_path: Path) -> None:
    """A launched run trains with `--out .`, and names its checkpoint and its model relative to that."""
    out, es = tmp_path / "out", ES | {"population": 8, "hash_every": 1}
    for iterations in (3, 5):
        config = run_json(tmp_path, "es-micro", es=es | {"iterations": iterations}, evaluation={"every": 0})
        out.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "workers.train", str(config), "--out", "."]
        with Fork(command, cwd=out, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0, errors
    for epoch in (0, 1):
        last = records(out, Engines, epoch)[-1]
        assert [engine.state for engine in last.engines] == ["ready", "ready"]
        assert all(engine.members > 0 and engine.restarts == 0 for engine in last.engines)


def test_engines_end_when_the_training_process_is_killed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    config = run_json(tmp_path, "es-micro", es=ES | {"iterations": 100_000, "engines": 3}, evaluation={"every": 0})
    with start(config, out, is_fork=True) as process:
        wait_until(lambda: has_trained(out, process), "the first iterations")
        engines = descendants(process)
        process.kill()
    assert len(engines) == 2
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in engines), "the engines to end")
