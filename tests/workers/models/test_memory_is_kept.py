"""A process that keeps freed memory gets it again without asking the system for new pages."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys, torch
from workers.models.memory import keep_freed_memory
if "keep" in sys.argv and not keep_freed_memory():
    sys.exit(3)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def blocks():
    [torch.zeros(4_000_000, dtype=torch.uint8) for _ in range(12)]
blocks()
before = faults()
for _ in range(5):
    blocks()
print(faults() - before)
"""


def page_faults(*words: str) -> int:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=False)
    if done.returncode == 3:
        pytest.skip("the C library is not glibc")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_what_was_freed_is_used_again() -> None:
    assert page_faults("keep") * 10 < page_faults()
