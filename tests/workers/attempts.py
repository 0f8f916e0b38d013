"""Attempt directories with small programs in them, and agents started for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS

PROJECT = Path(__file__).resolve().parents[2]
STAYS_SECONDS = 2 * PATIENCE_SECONDS
"""Seconds that a program lives which must not end on its own while a test waits for something else."""
ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "LANG": "C.UTF-8"}
HAS_STARTED = "with open('started', 'a') as file: file.write('x')"
"""How a program that handles signals reports its start. A file that is closed only as garbage would swallow the
SystemExit of a handler that runs meanwhile."""
AWAITS_SIGNAL = f"for _ in range({int(20 * STAYS_SECONDS)}): time.sleep(0.05)"
"""How such a program waits. A signal that arrives just before a sleep begins is handled when that sleep has ended."""
RUNS_LONG = f"import time; open('started', 'a').write('x'); time.sleep({STAYS_SECONDS})"
IGNORES_TERM = f"import signal; signal.signal(15, signal.SIG_IGN); {RUNS_LONG}"
CHECKPOINTS = f"""
import signal, sys, time
def stop(number, frame):
    open('checkpoint', 'a').write(signal.Signals(number).name)
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGUSR1, stop)
{HAS_STARTED}
{AWAITS_SIGNAL}
"""


def python(code: str) -> list[str]:
    """Return the argv of a small program."""
    return [sys.executable, "-S", "-c", code]


def attempt(directory: Path, code: str, **needs: Any) -> Path:
    """Create a directory with a job that sends frequent heartbeats. Tests that kill it pass a short grace."""
    directory.mkdir(parents=True, exist_ok=True)
    usual = {"beat_seconds": 0.02, "grace_seconds": PATIENCE_SECONDS, "time_limit_seconds": 0}
    (directory / "spec.json").write_text(json.dumps({"argv": python(code), **usual, **needs}))
    return directory


def agent(directory: Path, *options: str) -> subprocess.Popen[str]:
    """Start a real agent, not detached, so that its exit code can be read."""
    return subprocess.Popen(
        [sys.executable, "-m", "workers.agent", str(directory), *options],
        env=ENV,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the process to end; return (exit code, stderr)."""
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, errors


def read(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file that must exist."""
    data = json.loads(path.read_text())
    assert isinstance(data, dict)
    return data
