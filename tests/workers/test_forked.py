"""A fork of the tests' process is as a program that was started: pid, signals, files, environment, end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.forked import Fork, fork_programs

FILES: list[BinaryIO] = []


def run(code: str, **options: Any) -> tuple[int, str, str]:
    """Run a program in a fork. Return its exit code, its output and its errors."""
    with Fork([sys.executable, "-c", code, "word"], stdin=DEVNULL, stdout=PIPE, stderr=PIPE, text=True, **options) as f:
        output, errors = f.communicate(timeout=PATIENCE_SECONDS)
    return f.returncode, output, errors


def test_fork_has_its_own_pid_folder_environment_and_arguments(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getppid(), os.getcwd(), dict(os.environ), sys.argv, sys.stdin.read())"
    expected = f"{os.getpid()} {tmp_path} {{'A': 'b'}} ['-c', 'word'] \n"
    assert run(code, cwd=tmp_path, env={"A": "b"}) == (0, expected, "")
    assert Path.cwd() != tmp_path and "A" not in os.environ


@pytest.mark.parametrize(
    ("code", "exit_code", "error"),
    [
        ("import sys; sys.exit(75)", 75, ""),
        ("import sys; sys.exit('no reason')", 1, "no reason"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, ""),
    ],
)
def test_fork_ends_as_a_program(code: str, exit_code: int, error: str) -> None:
    ended, output, errors = run(code)
    assert (ended, output, error in errors) == (exit_code, "", True)


def test_fork_has_no_file_of_the_tests_but_those_it_is_given() -> None:
    reading, writing = os.pipe()
    code = """import os
paths = {}
for n in os.listdir('/proc/self/fd'):
    if os.path.exists(f'/proc/self/fd/{n}'):
        paths[n] = os.readlink(f'/proc/self/fd/{n}')
print(sorted(int(n) for n, path in paths.items() if path != '/dev/null'))"""
    try:
        assert run(code, pass_fds=[writing])[1] == f"[1, 2, {writing}]\n"
        assert run(code)[1] == "[1, 2]\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_file_of_the_tests_that_goes_closes_no_file_of_the_fork() -> None:
    FILES.append(Path(os.devnull).open("rb"))  # noqa: SIM115  (its end is what is tested)
    code = """import os
from tests.workers.test_forked import FILES
pipes = [os.pipe() for _ in range(100)]
FILES.clear()
for reading, writing in pipes:
    os.write(writing, b"1")
    os.read(reading, 1)"""
    try:
        assert run(code) == (0, "", "")
    finally:
        FILES.pop().close()


def test_forking_module_runs_a_module_as_main(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(subprocess=subprocess)
    fork_programs(monkeypatch, module)
    with module.subprocess.Popen([sys.executable, "-m", "tests.no_such_program"], stderr=PIPE, text=True) as process:
        assert "No module named tests.no_such_program" in process.communicate()[1]
    assert process.returncode == 1
    assert module.subprocess.DEVNULL is subprocess.DEVNULL
