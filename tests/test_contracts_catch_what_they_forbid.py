"""The import contracts can fail: what they forbid is planted in a copy of the code, and caught."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("esweb", "judging", "runs", "workers")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def broken(directory: Path) -> list[str]:
    """The names of the contracts that do not hold."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", lint, "--no-cache"]
    # Wide, so that no name is wrapped.
    wide = {**os.environ, "COLUMNS": "200"}
    answer = subprocess.run(command, cwd=directory, env=wide, capture_output=True, text=True, check=False)
    assert "Contracts:" in answer.stdout, answer.stdout + answer.stderr
    return [line.removesuffix(" BROKEN") for line in answer.stdout.splitlines() if line.endswith(" BROKEN")]


def test_the_code_as_it_is_keeps_every_contract(copy: Path) -> None:
    assert broken(copy) == []


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("workers/tasks/base.py", "import django", "1. The wall"),
        ("workers/records/kinds.py", "import torch", "3. Light web"),
        ("workers/models/load.py", "import workers.engines", "4. Rooms of workers"),
        ("workers/agent.py", "import numpy", "4b. The agent"),
        ("workers/engines/es/train.py", "import workers.engines.grpo", "5. Engines"),
        ("runs/importing/reports.py", "import runs.importing.log", "5b. Importers"),
        ("runs/series/__init__.py", "import runs.ingest", "6. Rooms of an app: runs"),
        ("judging/ratings/fitting.py", "import django", "6c. The pure rooms"),
        ("runs/forms.py", "import workers.executors.local", "7. One door"),
    ],
)
def test_a_planted_import_is_caught(copy: Path, module: str, line: str, contract: str) -> None:
    path = copy / module
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    assert any(name.startswith(contract) for name in broken(copy))
