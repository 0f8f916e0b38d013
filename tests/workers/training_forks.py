"""Trainings by GRPO as forks of one process that has imported all of workers, and has computed nothing.

So only one of all processes imports torch, transformers and TRL. A fork of the tests' process (forked.py) would hang:
that process has run backward passes.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from tests.waiting import wait_until
from tests.workers.forked import Fork, fork_programs
from tests.workers.test_light_modules import modules
from workers.agent import death_signal_setter
from workers.engine_nodes import processes

PROGRAM = ("-c", "from tests.workers.training_forks import serve; serve()")


def serve() -> None:
    """Run one training after another, where Django is not installed. A line gives its arguments and the file of its
    errors.

    Print the number of modules of workers that are imported; then the pid of each training, and its exit code once it
    has ended.
    """
    sys.modules["django"] = None  # type: ignore[assignment]
    names = [*modules(), "transformers.models.qwen2.modeling_qwen2"]
    for name in names:
        importlib.import_module(name)
    print(len(names) - 1, flush=True)
    with pytest.MonkeyPatch.context() as patch:
        # The training forks its processes too.
        fork_programs(patch, processes)
        for line in sys.stdin:
            argv, errors = json.loads(line)
            with Path(errors).open("w", encoding="utf-8") as file:
                training = Fork(
                    [sys.executable, "-m", "workers.train", *argv],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, preexec_fn=death_signal_setter(),
                )  # fmt: skip
            print(training.pid, flush=True)
            print(training.wait(), flush=True)


class TrainingForks:
    """The process of which trainings are forks. Use it as a context, whose end ends them too.

    `imported`: the modules of workers that it has imported.
    """

    def __enter__(self) -> TrainingForks:
        self._server = subprocess.Popen(
            [sys.executable, *PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self._server.stdout is not None
        self.imported = int(self._server.stdout.readline())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.kill()
        self._server.communicate()

    def start(self, argv: Sequence[str], errors: Path) -> ForkedTraining:
        """Start a training; the one before must have ended."""
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps([list(argv), str(errors)]) + "\n")
        self._server.stdin.flush()
        return ForkedTraining(self._server.stdout, errors)


class ForkedTraining:
    """A training as a process that is no child of this one."""

    def __init__(self, output: Any, errors: Path) -> None:
        self._output, self._errors = output, errors
        self.pid = int(output.readline())

    @property
    def is_running(self) -> bool:
        """Return whether the process is there."""
        return Path(f"/proc/{self.pid}").exists()

    def request_stop(self) -> None:
        """Let it stop as a scheduler does."""
        os.kill(self.pid, signal.SIGTERM)

    def end(self) -> tuple[int, str]:
        """Wait for its end. Return its exit code and what it has written as errors."""
        wait_until(lambda: not self.is_running, "the training to end")
        return int(self._output.readline()), self._errors.read_text(encoding="utf-8")
