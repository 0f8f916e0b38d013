"""The import contracts can fail: forbidden imports are added to a copy of the code, and detected.

What is broken without them is reported among them, so the code is read once.
"""

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
    ("esweb_client/cli/errors.py", "numpy", "8. The client"),
    ("runs/access/tokens.py", "esweb_client", "9. The server"),
]
"""A file, a module to import there, and the contract that forbids it."""
HEADING = re.compile(r"^(.+)\n-{5,}$", re.MULTILINE)


def copy_code(folder: Path) -> Path:
    """Copy the code into the folder and return it."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    client = ROOT / "client" / "esweb_client"
    shutil.copytree(client, folder / "esweb_client", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def find_broken_contracts(directory: Path) -> dict[str, str]:
    """Return the broken contracts, each with the imports that break it."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", lint, "--no-cache"]
    # The output is wide, so that no name is wrapped.
    env = {**os.environ, "COLUMNS": "200"}
    result = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, check=False)
    assert "Contracts:" in result.stdout, result.stdout + result.stderr
    _, *sections = HEADING.split(result.stdout.partition("Broken contracts\n")[2].partition("\n")[2])
    contracts = dict(zip(sections[::2], sections[1::2], strict=True))
    assert f"{len(contracts)} broken" in result.stdout
    return contracts


@pytest.fixture(scope="module")
def broken_contracts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the broken contracts after all imports are planted together."""
    copy = copy_code(tmp_path_factory.mktemp("planted"))
    for module, imported, _ in PLANTED:
        with (copy / module).open("a", encoding="utf-8") as file:
            file.write(f"\nimport {imported}\n")
    return find_broken_contracts(copy)


def edge(module: str, imported: str) -> str:
    """Return a planted import as the report shows it, without its line."""
    return f"{module.removesuffix('.py').removesuffix('/__init__').replace('/', '.')} -> {imported} (l."


def test_planted_imports_break_their_contracts(broken_contracts: dict[str, str]) -> None:
    missing = [
        (module, contract)
        for module, imported, contract in PLANTED
        if not any(
            edge(module, imported) in text for name, text in broken_contracts.items() if name.startswith(contract)
        )
    ]
    assert missing == []


def test_code_keeps_every_contract(broken_contracts: dict[str, str]) -> None:
    """Each reported chain of imports has a planted one; a line with & is another beginning or end of a chain."""
    edges = [edge(module, imported) for module, imported, _ in PLANTED]
    chains = [
        chain for text in broken_contracts.values() for chain in re.split(r"^(?:-|\s*&) +", text, flags=re.MULTILINE)
    ]
    chains = [chain for chain in chains if "(l." in chain]
    assert len(chains) >= len(PLANTED)
    assert [chain for chain in chains if not any(planted in chain for planted in edges)] == []


def test_every_contract_has_a_planted_import() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    planted = [contract for _, _, contract in PLANTED]
    for contract in contracts:
        assert [prefix for prefix in planted if contract["name"].startswith(prefix)], contract["name"]
