"""The reference of ES on a GPU: vLLM, member after member, measured by a process of its own.

The process sees vLLM's packages, which the caller must not see, and its memory is free when it has ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import results

LIMIT_SECONDS = 300
TAIL_CHARACTERS = 4000
FIGURE = "vLLM, member after member"


def measure_reference(folder: Path, packages: str | None) -> dict[str, Any] | None:
    """Return what `vllm_reference` prints for a model's folder, and record its figures; None if it fails.

    `packages` is the folder with vLLM's packages.
    """
    if packages is None:
        results.not_measured(FIGURE, "no --vllm")
        return None
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.gpu.vllm_reference", str(folder)],
            env={**os.environ, "PYTHONPATH": with_packages(packages)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        # It is bytes here, also of a process whose output is text.
        print((error.output or b"").decode(errors="replace")[-TAIL_CHARACTERS:], flush=True)
        results.not_measured(FIGURE, f"took more than {LIMIT_SECONDS} s")
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("VLLM ")]
    if done.returncode or not lines:
        print(done.stdout[-TAIL_CHARACTERS:], flush=True)
        results.not_measured(FIGURE, f"ended with code {done.returncode}")
        return None
    measured: dict[str, Any] = json.loads(lines[-1].removeprefix("VLLM "))
    results.without_goal("vLLM, detokenising", measured["detokenising"]["median"], "s a member")
    results.without_goal("vLLM, token ids alone", measured["token_ids"]["median"], "s a member")
    return measured


def with_packages(packages: str) -> str:
    """Return a PYTHONPATH with these packages before those of this process."""
    return os.pathsep.join([packages, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
