"""The wheel of `make client` alone, in an empty environment of the oldest Python of this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "client"
OLDEST_MINOR, NEWEST_MINOR = 9, 14
MAX_BYTES = 200_000
SCRIPT = """
import sys
import esweb_client
run = esweb_client.init(project="alone", config={"lr": 1e-5}, mode="offline", dir=sys.argv[1], id="alone")
for step in range(3):
    run.log({"reward/mean": step / 2, "nested": {"kl": 0.1}}, step=step)
run.log_responses(["Paris."], prompts=["Capital of France?"], rewards=[1.0], step=2)
run.finish()
"""


def oldest_python() -> str:
    """Return the oldest Python from 3.9 on: of the PATH, of pyenv's versions, or the one of this environment."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for minor in range(OLDEST_MINOR, NEWEST_MINOR + 1):
        name = f"python3.{minor}"
        candidates = [shutil.which(name), *map(str, sorted(pyenv.glob(f"3.{minor}.*/bin/{name}")))]
        # A shim of pyenv exists for each version, and fails for those that are not chosen.
        for candidate in filter(None, candidates):
            if (
                subprocess.run([candidate, "-c", "import json, ssl, venv"], capture_output=True, check=False).returncode
                == 0
            ):
                return candidate
    return sys.executable


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Build the wheel as `make client` does, from a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(
        CLIENT, folder / "client", ignore=shutil.ignore_patterns("__pycache__", "dist", "build", "*.egg-info")
    )
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, folder / "client"],
        check=True,
        timeout=300,
    )
    [built] = folder.glob("esweb_client-*.whl")
    yield built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a virtual environment with the wheel and nothing else, made without a network."""
    folder = tmp_path_factory.mktemp("empty") / "env"
    subprocess.run([oldest_python(), "-m", "venv", "--without-pip", folder], check=True, timeout=300)
    [packages] = folder.glob("lib/python3.*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    return folder


def test_wheel_is_small_and_has_the_client_only(wheel: Path) -> None:
    assert wheel.stat().st_size < MAX_BYTES
    with zipfile.ZipFile(wheel) as archive:
        assert {name.split("/")[0].split("-")[0] for name in archive.namelist()} == {"esweb_client"}
        [metadata] = [name for name in archive.namelist() if name.endswith("METADATA")]
        text = archive.read(metadata).decode()
        [commands] = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert "esweb = esweb_client.cli.__main__:main" in archive.read(commands).decode()
    assert "Requires-Python: >=3.9" in text and "Provides-Extra: cli" in text
    assert "Requires-Dist" not in text


def test_script_logs_in_an_empty_environment(environment: Path, tmp_path: Path) -> None:
    python = environment / "bin" / "python"
    subprocess.run([python, "-I", "-W", "error", "-c", SCRIPT, tmp_path / "runs"], check=True, timeout=120)
    [records] = (tmp_path / "runs" / "alone").glob("*/records.0.jsonl")
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    values = [line["values"] for line in lines if line["kind"] == "metric" and "reward/mean" in line["values"]]
    assert values == [{"reward/mean": step / 2, "nested/kl": 0.1} for step in range(3)]
    assert [line["text"] for line in lines if line["kind"] == "response"] == ["Paris."]


def test_command_line_runs_in_an_empty_environment(environment: Path) -> None:
    python = environment / "bin" / "python"
    for argv in (["--version"], ["--help"], ["sync", "--help"], ["completion", "bash"]):
        command = [python, "-I", "-W", "error", "-m", "esweb_client.cli", *argv]
        printed = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True).stdout
        assert "esweb" in printed


def test_every_module_can_be_imported_by_the_oldest_python(environment: Path) -> None:
    """The modules of the callback import transformers, which the environment lacks."""
    modules = sorted(
        ".".join(path.relative_to(CLIENT).with_suffix("").parts)
        for path in (CLIENT / "esweb_client").rglob("*.py")
        if "huggingface" not in path.parts and path.name not in ("__init__.py", "__main__.py")
    )
    assert len(modules) > 30
    python = environment / "bin" / "python"
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    subprocess.run([python, "-I", "-W", "error", "-c", code, *modules], check=True, timeout=120)
