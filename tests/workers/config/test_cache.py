"""What is compiled once serves all runs of a machine: kernels, and bytecode of libraries that came without."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from workers.config import cache


@pytest.fixture
def torch_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a library without bytecode, with an empty cache folder and no variable set."""
    file = tmp_path / "site" / "torch.py"
    file.parent.mkdir()
    file.write_text("", encoding="utf-8")
    monkeypatch.setenv("ESWEB_CACHE", str(tmp_path / "cache"))
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"):
        # Set first, so that the end of the test removes what the code sets.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec = importlib.util.spec_from_file_location("torch", file)
    monkeypatch.setattr(cache, "find_spec", lambda name: spec)
    return file


def test_kernels_are_compiled_into_the_cache_folder(torch_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", "/elsewhere")
    cache.share_compiled_code()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(cache.cache_folder() / "inductor")
    assert os.environ["TRITON_CACHE_DIR"] == "/elsewhere", "a folder that somebody has chosen stays"


def test_bytecode_of_libraries_without_any_goes_to_the_cache_folder(torch_file: Path) -> None:
    cache.share_compiled_code()
    assert sys.pycache_prefix == os.environ["PYTHONPYCACHEPREFIX"] == str(cache.cache_folder() / "bytecode")
    assert not sys.dont_write_bytecode


def test_bytecode_beside_libraries_is_used(torch_file: Path) -> None:
    beside = Path(importlib.util.cache_from_source(str(torch_file)))
    beside.parent.mkdir()
    beside.touch()
    cache.share_compiled_code()
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (None, True)
    assert "PYTHONPYCACHEPREFIX" not in os.environ


def test_machine_without_torch_has_no_bytecode_to_share(torch_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(cache, "find_spec", find_nothing)
    cache.share_compiled_code()
    assert sys.pycache_prefix is None
