"""The import contracts can fail: what they forbid is planted in a copy of the code, and caught."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("esweb", "judging", "runs", "workers")


PLANTED = [
    ("workers/tasks/base.py", "django", "1. The boundary"),
    ("runs/launching/create.py", "judging", "2. Sides"),
    ("judging/boards/votes.py", "runs.compare", "2b. judging uses of runs"),
    ("workers/records/kinds.py", "torch", "3. Light web"),
    ("workers/models/load.py", "workers.engines", "4. Layers of workers"),
    ("workers/agent.py", "numpy", "4b. The agent"),
    ("workers/engines/es/train.py", "workers.engines.grpo", "5. Engines"),
    ("runs/importing/readers/reports.py", "runs.importing.readers.log", "5b. Importers"),
    ("workers/executors/slurm/executor.py", "workers.executors.local", "5c. Executors"),
    ("runs/metrics/__init__.py", "runs.ingest", "6. Layers of runs"),
    ("judging/voting/turns.py", "judging.tournaments", "6b. Layers of judging"),
    ("judging/stats/ratings/maximum_likelihood.py", "django", "6c. The pure packages"),
    ("judging/stats/votes/rows.py", "judging.stats.ratings", "6d. Layers of judging.stats"),
    ("runs/metrics/reading.py", "runs.metrics.live", "6e. Layers of runs.metrics"),
    ("runs/launching/create.py", "runs.launching.sweeps", "6f. Layers of runs.launching"),
    ("runs/experiments/edit.py", "workers.executors.local", "7. One way to clusters"),
    ("esweb/cli/errors.py", "numpy", "8. The command line"),
]
"""A file, what it is made to import, and the contract that forbids it."""
HEADING = re.compile(r"^(.+)\n-{5,}$", re.MULTILINE)


def copied(folder: Path) -> Path:
    """The code, to be changed."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def broken(directory: Path) -> dict[str, str]:
    """The contracts that do not hold, each with the imports that break it."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", lint, "--no-cache"]
    # Wide, so that no name is wrapped.
    wide = {**os.environ, "COLUMNS": "200"}
    answer = subprocess.run(command, cwd=directory, env=wide, capture_output=True, text=True, check=False)
    assert "Contracts:" in answer.stdout, answer.stdout + answer.stderr
    _, *told = HEADING.split(answer.stdout.partition("Broken contracts\n")[2].partition("\n")[2])
    found = dict(zip(told[::2], told[1::2], strict=True))
    assert f"{len(found)} broken" in answer.stdout
    return found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said where all of it is planted at once."""
    copy = copied(tmp_path_factory.mktemp("planted"))
    for module, imported, _ in PLANTED:
        with (copy / module).open("a", encoding="utf-8") as file:
            file.write(f"\nimport {imported}\n")
    return broken(copy)


def test_the_code_as_it_is_keeps_every_contract(tmp_path: Path) -> None:
    assert broken(copied(tmp_path)) == {}


@pytest.mark.parametrize(("module", "imported", "contract"), PLANTED)
def test_a_planted_import_is_caught(told: dict[str, str], module: str, imported: str, contract: str) -> None:
    [said] = [said for name, said in told.items() if name.startswith(contract)]
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert f"{name} -> {imported} (l." in said


def test_every_contract_has_a_planted_import() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    planted = [contract for _, _, contract in PLANTED]
    for contract in contracts:
        assert [one for one in planted if contract["name"].startswith(one)], contract["name"]
