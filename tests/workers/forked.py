"""Python programs as forks of the tests' process: real processes, without the seconds in which each imports torch.

A fork has its own pid, signals, environment, working folder and exit code, and no other file of the tests' process, as
a program that is started. It shares what is imported, and what a test has patched. That a program starts from nothing,
and what it imports, needs a real start: tests/workers/engines/es/test_engine_processes.py,
tests/workers/test_train_resumes.py. Trainings by GRPO of several processes are forks of another process
(training_forks.py): gloo and the backward pass of a fork of this one were seen to hang.
"""

from __future__ import annotations

import contextlib
import gc
import os
import runpy
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

NAME_LENGTH = 15
"""Characters of a process's name that Linux keeps."""


class Fork(subprocess.Popen[Any]):
    """A fork that runs `python -m MODULE …` or `python -c CODE …`, and else is the process that Popen starts."""

    def _execute_child(  # type: ignore[override, unused-ignore]
        self, args: Sequence[str], executable: Any, preexec_fn: Callable[[], None] | None, close_fds: bool,
        pass_fds: Sequence[int], cwd: Any, env: Mapping[str, str] | None, startupinfo: Any, creationflags: Any,
        shell: Any, p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int, errread: int, errwrite: int, *_: Any,
    ) -> None:  # fmt: skip
        if args[0] != sys.executable:
            raise FileNotFoundError(f"no program of this Python: {args}")
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        named, names = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _set_name(args[1], args[2])
            os.write(names, b"1")
            _run(args[1:], (p2cread, c2pwrite, errwrite), preexec_fn, pass_fds, cwd, env)
        # Until it has its own name, a fork of a node's program is taken for that program.
        os.read(named, 1)
        os.close(named)
        os.close(names)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def fork_programs(monkeypatch: pytest.MonkeyPatch, *modules: Any) -> None:
    """Let these modules fork the programs of Python that they start."""
    for module in modules:
        monkeypatch.setattr(module, "subprocess", _Forking(subprocess))


def name_of(pid: int) -> str:
    """Return the name of a fork, the end of its module's name; raise OSError if it has ended."""
    return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").rstrip("\n")


class _Forking:
    """The module subprocess with another Popen."""

    Popen = Fork

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _run(
    program: Sequence[str],
    streams: Sequence[int],
    preexec: Callable[[], None] | None,
    files_to_keep: Sequence[int],
    folder: Any,
    environment: Mapping[str, str] | None,
) -> NoReturn:
    """Run the program in this process, and end it."""
    code = 1
    try:
        # No object of the tests may be collected here: it may close a connection that both processes have.
        gc.freeze()
        _reset_signals()
        if preexec is not None:
            preexec()
        _replace_files(streams, files_to_keep)
        if folder is not None:
            os.chdir(folder)
        if environment is not None:
            os.environ.clear()
            os.environ.update(environment)
            sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
        _forget_earlier_trainings()
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        code = _exit_code(program)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        # Not by way of `atexit`: those functions belong to the tests' process.
        os._exit(code)


def _set_name(kind: str, what: str) -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(what[-NAME_LENGTH:] if kind == "-m" else "python -c", encoding="utf-8")


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _replace_files(streams: Sequence[int], files_to_keep: Sequence[int]) -> None:
    """Make the pipes the standard streams, and the null device all other files but those to keep.

    The numbers of the others stay in use: an object of the tests that still has one closes it when it goes, and would
    close a file of the fork that had been given the same number.
    """
    for number, descriptor in enumerate(streams):
        if descriptor not in (-1, number):
            os.dup2(descriptor, number)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if descriptor in files_to_keep:
            os.set_inheritable(descriptor, True)
        # The last one is that of the list itself, which is closed by now.
        elif descriptor > 2 and descriptor != null and _is_open(descriptor):
            os.dup2(null, descriptor, inheritable=False)
    os.close(null)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _forget_earlier_trainings() -> None:
    """Drop what accelerate remembers of trainings in the tests' process."""
    if state := sys.modules.get("accelerate.state"):
        state.AcceleratorState._reset_state(reset_partial_state=True)
        state.GradientState._reset_state()


def _exit_code(program: Sequence[str]) -> int:
    """Run `-m MODULE …` or `-c CODE …` as Python does. Return the exit code."""
    kind, what, *arguments = program
    sys.argv[:] = [kind, *arguments]
    try:
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 the code of a test
        for thread in set(threading.enumerate()) - {threading.current_thread()}:
            if not thread.daemon:
                thread.join()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
