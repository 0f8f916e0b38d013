"""Measure every probe of method probe on the tiny model and one core, with the default settings.

    python -m benchmarks.probe_run

Two short ES trainings with other seeds are examined together: each alone, the two against each other, and the lines
between them and the base model, on 16 prompts with responses of at most 40 tokens. Training is not counted; loading the
libraries and the models is.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks import results

GOAL_SECONDS = 60.0
MODEL = {"path": "tiny", "device": "cpu"}
ES = {"iterations": 12, "population": 30, "sigma": 0.01, "alpha": 0.01, "prompts": 8, "max_new_tokens": 40}
EVALUATION = {"prompts": 16, "samples": 0, "max_new_tokens": 40}
LINE = re.compile(r"\d+/\d+  (\w+) .*  ([\d.]+) s")


def execute(folder: Path, name: str, config: dict[str, object]) -> tuple[Path, str]:
    """Execute a run. Return its directory and what it printed."""
    file, out = folder / f"{name}.json", folder / name
    file.write_text(json.dumps({"model": MODEL, "evaluation": EVALUATION | {"every": 0}} | config), encoding="utf-8")
    command = [sys.executable, "-m", "workers.train", str(file), "--out", str(out)]
    return out, subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Train twice, probe once, and print the seconds of each probe and of the whole run."""
    with tempfile.TemporaryDirectory(prefix="esweb-probe-") as scratch:
        folder = Path(scratch)
        seeds = {f"seed{seed}": {"method": "es", "seed": seed, "es": ES} for seed in (1, 2)}
        trained = [execute(folder, name, config)[0] for name, config in seeds.items()]
        began = time.perf_counter()
        _, printed = execute(folder, "probe", {"method": "probe", "probe": {"runs": list(map(str, trained))}})
        seconds = time.perf_counter() - began
    by_probe = defaultdict[str, float](float)
    for name, of_unit in LINE.findall(printed):
        by_probe[name] += float(of_unit)
    print("  ".join(f"{name} {total:.1f} s" for name, total in by_probe.items()))
    figure = "every probe of two runs of tiny, one core"
    results.at_most(figure, seconds, GOAL_SECONDS, "s")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
