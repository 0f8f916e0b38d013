"""The environment of vLLM, which has a torch of its own: `make setup VLLM=1` creates it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from workers.config import ConfigError, Problem

PYTHON = "ESWEB_VLLM_PYTHON"
"""Names the interpreter, where it is not `.venv-vllm/bin/python` in the project."""
PROJECT = Path(__file__).parents[4]


def vllm_python(environment: Mapping[str, str] = os.environ) -> str:
    """Return the interpreter of vLLM's environment. Raise ConfigError if there is none."""
    given = environment.get(PYTHON, "")
    python = given or str(PROJECT / ".venv-vllm" / "bin" / "python")
    if shutil.which(python) is not None:
        return python
    place = f"{PYTHON} names {given}, which is" if given else f"{python} is"
    reason = (
        f"is vllm, but {place} no program on this machine. Create vLLM's environment with make setup VLLM=1, or set "
        f"{PYTHON} to the Python of another one; or set es.backend to native or transformers"
    )
    raise ConfigError([Problem("es.backend", reason)])
