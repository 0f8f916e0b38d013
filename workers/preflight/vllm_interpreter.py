"""The interpreter of vLLM's environment and its variables, and which packages an interpreter has. Stdlib only."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

VLLM_PYTHON = "ESWEB_VLLM_PYTHON"
"""Names the interpreter of vLLM's environment, if it is not `.venv-vllm/bin/python` in the project."""
VLLM_VARIABLES: Mapping[str, str] = {
    # Its sampler needs a compiler on the machine.
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    # vLLM would report its use to its makers.
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
"""The variables of each process that runs vLLM, to set before an engine starts."""
PROJECT = Path(__file__).parents[2]
SECONDS = 60.0
PROGRAM = """
import sys
from importlib.util import find_spec
print("missing", *(name for name in sys.argv[1:] if find_spec(name) is None))
"""


class BrokenInterpreter(Exception):
    """An interpreter that does not run; the message gives the reason."""


def vllm_interpreter(environment: Mapping[str, str]) -> tuple[str, bool]:
    """Return the interpreter of vLLM's environment, and whether it exists."""
    python = environment.get(VLLM_PYTHON) or str(PROJECT / ".venv-vllm" / "bin" / "python")
    return python, shutil.which(python) is not None


def missing_packages(python: str, packages: Sequence[str]) -> list[str]:
    """Return the packages that an interpreter cannot import. Raise BrokenInterpreter if it does not run."""
    if python == sys.executable:
        return [name for name in packages if find_spec(name) is None]
    try:
        reply = subprocess.run(
            [python, "-c", PROGRAM, *packages],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrokenInterpreter(f"{python} does not run: {error}") from error
    words = reply.stdout.split()
    if reply.returncode or words[:1] != ["missing"]:
        last = (reply.stderr.strip() or reply.stdout.strip() or "it printed nothing").splitlines()[-1]
        raise BrokenInterpreter(f"{python} is no Python that runs (exit code {reply.returncode}): {last}")
    return words[1:]
