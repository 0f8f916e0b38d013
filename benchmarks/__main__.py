"""Run every benchmark, each in a process of its own, and print one table of all figures:

    python -m benchmarks [NAME ...]

Exits 1 if a promise was missed or could not be measured, or a benchmark failed, after all of them have run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import HEADER, MISSED_EXIT_CODE, RESULTS_FILE, Result, Status, aligned

SHARED_MODULES = {"closed_loop", "judgments", "peers", "points", "results", "servers"}
"""Modules of this folder that benchmarks import, and that measure nothing alone."""


def names() -> list[str]:
    """Return the benchmarks of this folder."""
    stems = (path.stem for path in Path(__file__).parent.glob("*.py"))
    return sorted(name for name in stems if not name.startswith("_") and name not in SHARED_MODULES)


def measure(command: Sequence[str]) -> list[Result]:
    """Run one benchmark; return its results, with a `failed` one if it did not run to its end."""
    with tempfile.TemporaryDirectory(prefix="esweb-results-") as folder:
        file = Path(folder) / "results.jsonl"
        code = subprocess.run(command, env=os.environ | {RESULTS_FILE: str(file)}, check=False).returncode
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    results = [Result.from_json(line) for line in lines]
    if code not in (0, MISSED_EXIT_CODE):
        results.append(Result("the benchmark itself", f"exit code {code}", Status.FAILED))
    elif not results:
        results.append(Result("the benchmark itself", "recorded no result", Status.FAILED))
    return results


def table(results: dict[str, list[Result]]) -> str:
    """Return the table of all results by benchmark."""
    return aligned([HEADER, *((name, *result.cells) for name, several in results.items() for result in several)])


def main(selected: Sequence[str]) -> int:
    """Run `chosen`, or all. Return 1 if anything was missed or failed, 2 for a name that is no benchmark."""
    if unknown := set(selected) - set(names()):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    results = {}
    for name in selected or names():
        print(f"\n== {name} ==", flush=True)
        results[name] = measure([sys.executable, "-m", f"benchmarks.{name}"])
    print(f"\n{table(results)}", flush=True)
    return 0 if all(result.status.is_good for several in results.values() for result in several) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
