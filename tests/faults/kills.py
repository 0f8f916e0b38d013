"""Plant one fault after another in a copy of the project, and run the tests that execute it until one fails."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath

from tests.faults.mutations import Fault, find

SECONDS = 60
"""Time for the tests of one fault, with the start of servers."""
MAX_FILES = 12
MAX_TESTS = 200
PASSED, TESTS_FAILED, INTERRUPTED, NOTHING_RAN = 0, 1, 2, 5
"""Exit codes of pytest."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: killed by a test, survived, timed out, or no test executes it."""

    number: int
    result: str
    test: str = ""
    seconds: float = 0.0

    @property
    def is_killed(self) -> bool:
        """Return whether a test found the fault."""
        return self.result == "killed"


def kill(root: Path, number: int, fault: Fault, tests: Sequence[str]) -> Outcome:
    """Plant the fault in `root`, run these tests until one fails, and take the fault out again."""
    place = find(root, fault)
    if place is None:
        return Outcome(number, "code is gone")
    if not tests:
        return Outcome(number, "not executed")
    path = root / fault.path
    source = path.read_text(encoding="utf-8")
    path.write_text(f"{source[: place.start]}({fault.replacement}){source[place.end :]}", encoding="utf-8")
    started_at = time.monotonic()
    try:
        result, test = _run(root, tests)
    finally:
        path.write_text(source, encoding="utf-8")
    return Outcome(number, result, test, round(time.monotonic() - started_at, 1))


def _run(root: Path, tests: Sequence[str]) -> tuple[str, str]:
    # A test that is named runs, although it is marked `soak`: what `make test` leaves out must not count.
    options = ("-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", "not soak")
    process = subprocess.Popen(
        [_python(root), "-m", "pytest", *options, *tests],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={**os.environ, "COLUMNS": "400", "PYTHONDONTWRITEBYTECODE": ""},
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        _end(process)
        return "timed out", ""
    if process.returncode in (PASSED, NOTHING_RAN):
        return "survived", ""
    failed = FAILED.search(output)
    # A fault that breaks an import fails every test: pytest then names a module, or its own start fails.
    if process.returncode in (TESTS_FAILED, INTERRUPTED) or "Error" in output.rpartition("\n\n")[2]:
        return "killed", failed.group(1) if failed else f"exit code {process.returncode}"
    raise RuntimeError(f"pytest ended with {process.returncode}:\n{output}")


def _python(root: Path) -> str:
    """Return the copy's own Python, whose packages `esweb` and `esweb_client` are the copy's too; else this one."""
    own = root / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def _end(process: subprocess.Popen[str]) -> None:
    """Interrupt the tests, so that they stop their servers, and kill what has not ended then."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def select(fault: Fault, tests: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """Return the tests to run for a fault: those in the folder of its package first, the quick before the slow.

    At most MAX_TESTS of MAX_FILES files, since each file that is collected takes time too.
    """
    folders = ("tests", *PurePosixPath(fault.path).parts[:-1])

    def order(test: str) -> tuple[int, float]:
        common = takewhile(lambda pair: pair[0] == pair[1], zip(folders, test.split("/"), strict=False))
        return -len(list(common)), seconds.get(test, 0.0)

    selected: list[str] = []
    files: set[str] = set()
    for test in sorted(tests, key=order):
        file = test.partition("::")[0]
        if len(selected) < MAX_TESTS and (file in files or len(files) < MAX_FILES):
            files.add(file)
            selected.append(test)
    return selected


def still_there(tests: Sequence[str], root: Path) -> list[str]:
    """Return these tests as far as `root` has them, as functions: parameter sets may have become one test."""
    functions = dict.fromkeys(test.partition("[")[0] for test in tests)
    return [test for test in functions if _is_defined(root / test.partition("::")[0], test.rpartition("::")[2])]


def _is_defined(path: Path, function: str) -> bool:
    return path.is_file() and f"def {function}(" in path.read_text(encoding="utf-8")


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write outcomes as JSON, a line each."""
    path.write_text("".join(f"{json.dumps(asdict(outcome))}\n" for outcome in outcomes), encoding="utf-8")


def read(path: Path) -> dict[int, Outcome]:
    """Return the outcomes of a file by number of the fault."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {outcome.number: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}
