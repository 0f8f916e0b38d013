"""Attempt directories with small programs in them, and agents started for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 90.0
"""How long a test waits for what a quiet machine does at once. What must not end by itself meanwhile lives longer."""
ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "LANG": "C.UTF-8"}
RUNS_LONG = "import time; open('started', 'a').write('x'); time.sleep(300)"
IGNORES_TERM = f"import signal; signal.signal(15, signal.SIG_IGN); {RUNS_LONG}"
CHECKPOINTS = """
import signal, sys, time
def stop(number, frame):
    open('checkpoint', 'a').write(signal.Signals(number).name)
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGUSR1, stop)
open('started', 'a').write('x')
time.sleep(300)
"""


def python(code: str) -> list[str]:
    """argv of a small program."""
    return [sys.executable, "-S", "-c", code]


def attempt(directory: Path, code: str, **needs: Any) -> Path:
    """A directory with a job in it, quick to beat. Who is to be killed for not listening is given a short grace."""
    directory.mkdir(parents=True, exist_ok=True)
    usual = {"beat_seconds": 0.02, "grace_seconds": PATIENCE_SECONDS, "time_limit_seconds": 0}
    (directory / "spec.json").write_text(json.dumps({"argv": python(code), **usual, **needs}))
    return directory


def agent(directory: Path, *options: str) -> subprocess.Popen[str]:
    """A real agent, not detached, so that its exit code can be read."""
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
    """(exit code, what it said) once it has ended."""
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, said


def read(path: Path) -> dict[str, Any]:
    """A JSON file that must be there."""
    data = json.loads(path.read_text())
    assert isinstance(data, dict)
    return data


def until(holds: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Waits until it holds, and returns what it gave. What is looked at needs the processor, so the longer it takes,
    the less often it looks: a tenth of the time so far, at most half a second."""
    began = time.monotonic()
    while not (value := holds()):
        waited = time.monotonic() - began
        assert waited < seconds, f"still not so after {seconds} s: {holds}"
        time.sleep(min(max(0.01, waited / 10), 0.5))
    return value
