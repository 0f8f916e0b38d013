"""What the tests cost, in core-seconds by package, file and fixture:

    python -m tests.cost [--top N] [FOLDER]

Runs the tests as `make test` does and prints Markdown tables, which docs/testing.md keeps. With FOLDER, prints those of
a run that wrote there (ESWEB_COST_FOLDER). Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cost_plugin import TICKS, VARIABLE

ROOT = Path(__file__).resolve().parent.parent
PYTEST = ("-m", "pytest", "-n", "auto", "-p", "tests.cost_plugin")
PARTS_OF_A_PACKAGE = {"runs": 3, "judging": 3, "workers": 3}
"""Folders below these are packages of their own: tests/runs/launching. Elsewhere tests/<folder> is one."""


@dataclass
class Costs:
    """The sums over all processes of a run. `machine` is what the whole machine worked meanwhile, if it is known."""

    files: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    fixtures: dict[str, tuple[float, int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    machine: float | None = None

    @property
    def total(self) -> float:
        """Return the core-seconds of all test processes and their children."""
        return sum(self.files.values())

    def by_package(self) -> dict[str, float]:
        """Return core-seconds by package, the dearest first."""
        return _sums((_package(file), seconds) for file, seconds in self.files.items())


def read(folder: Path) -> Costs:
    """Return the costs that the processes of one run wrote to `folder`."""
    costs = Costs()
    for path in folder.glob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        for file, seconds in content["files"].items():
            costs.files[file] += seconds
        for name, (seconds, setups) in content["fixtures"].items():
            before = costs.fixtures.get(name, (0.0, 0))
            costs.fixtures[name] = (before[0] + seconds, before[1] + int(setups))
        for test in content["tests"]:
            costs.counts[test.partition("::")[0]] += 1
    return costs


def package_lines(costs: Costs) -> list[str]:
    """Return a line for each package with its core-seconds and number of tests, and one with the total."""
    counts = _sums((_package(file), float(count)) for file, count in costs.counts.items())
    rows = [(name, seconds, int(counts.get(name, 0))) for name, seconds in costs.by_package().items()]
    rows.append(("total", costs.total, sum(costs.counts.values())))
    return ["package                        core-s    tests", *(f"{n:28} {s:8.1f} {c:8}" for n, s, c in rows)]


def markdown(costs: Costs, top: int) -> str:
    """Return the tables by package, by file and by fixture; the last two of the `top` dearest rows."""
    counts = costs.counts
    packages = _sums((_package(file), float(count)) for file, count in counts.items())
    blocks = [
        _summary(costs),
        _table("package", "tests", [(n, s, int(packages.get(n, 0))) for n, s in costs.by_package().items()]),
        _table("file", "tests", [(n, s, counts.get(n, 0)) for n, s in _sums(costs.files.items()).items()][:top]),
        _table("fixture", "setups", sorted(((n, *c) for n, c in costs.fixtures.items()), key=lambda r: -r[1])[:top]),
    ]
    return "\n\n".join(blocks)


def machine_seconds() -> float | None:
    """Return the core-seconds that this machine has worked since it started, or None if it does not say."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _iowait, irq, softirq = map(int, stat.read_text().split("\n")[0].split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def _summary(costs: Costs) -> str:
    text = f"{sum(costs.counts.values())} tests, {costs.total:.0f} core-seconds in their processes"
    return f"{text}; the machine worked {costs.machine:.0f}." if costs.machine else f"{text}."


def _table(title: str, unit: str, rows: Sequence[tuple[str, float, int]]) -> str:
    lines = [f"| `{name}` | {seconds:.1f} | {number} |" for name, seconds, number in rows]
    return "\n".join([f"| {title} | core-seconds | {unit} |", "|---|---:|---:|", *lines])


def _package(file: str) -> str:
    parts = file.split("/")
    depth = PARTS_OF_A_PACKAGE.get(parts[1], 2) if len(parts) > 2 else 1
    return "/".join(parts[: min(depth, len(parts) - 1)]) or file


def _sums(pairs: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    total: dict[str, float] = defaultdict(float)
    for name, seconds in pairs:
        total[name] += seconds
    return dict(sorted(total.items(), key=lambda pair: -pair[1]))


def main(argv: Sequence[str]) -> int:
    """Run the tests unless a folder is named, print the tables, and return pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.cost", description="What the tests cost, in core-seconds.")
    parser.add_argument("folder", nargs="?", type=Path, help="the folder of a run that has ended")
    parser.add_argument("--top", type=int, default=40, help="files and fixtures in the tables (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.folder:
        print(markdown(read(options.folder), options.top))
        return 0
    with tempfile.TemporaryDirectory(prefix="esweb-cost-") as folder:
        started_at, before = time.monotonic(), machine_seconds()
        # As in the Makefile: with bytecode on disk.
        environment = os.environ | {VARIABLE: folder, "PYTHONDONTWRITEBYTECODE": ""}
        code = subprocess.run([sys.executable, *PYTEST], cwd=ROOT, env=environment, check=False).returncode
        costs = read(Path(folder))
        after = machine_seconds()
        costs.machine = after - before if after is not None and before is not None else None
        print(f"\n{time.monotonic() - started_at:.0f} s. {markdown(costs, options.top)}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
