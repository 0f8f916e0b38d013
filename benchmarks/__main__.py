"""Runs every benchmark, each in a process of its own:  python -m benchmarks [NAME ...]

Exits 1 if any promise was missed, after all of them have run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PARTS = {"closed_loop", "peers", "points", "servers"}
"""What benchmarks are made of, and none by itself."""


def names() -> list[str]:
    """The benchmarks of this folder."""
    found = (path.stem for path in Path(__file__).parent.glob("*.py"))
    return sorted(name for name in found if not name.startswith("_") and name not in PARTS)


def main(chosen: list[str]) -> int:
    """Runs `chosen`, or all. Returns 1 if a promise was missed, 2 for a name that is no benchmark."""
    if unknown := set(chosen) - set(names()):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    missed = []
    for name in chosen or names():
        print(f"\n== {name} ==", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0:
            missed.append(name)
    print(f"\nmissed: {', '.join(missed)}" if missed else "\nevery promise kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
