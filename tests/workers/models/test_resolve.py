"""A model's name becomes a folder: made once, whoever asks; otherwise found, or refused with the choices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.attempts import ENV
from workers.models import ModelMissing, resolve
from workers.models.resolve import place
from workers.models.tiny.recipe import MICRO

ASK = """
import dataclasses
from workers.models import resolve
from workers.models.tiny.recipe import MICRO, RECIPES
RECIPES["micro"] = dataclasses.replace(MICRO, corpus_pairs=256, steps=2)
print(resolve("micro", lambda message, share: print(message.partition(":")[0]), seed=5))
"""
"""Asks for a model of the micro model's place that is made in fewer steps."""


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ESWEB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_two_processes_at_once_make_a_model_once(empty_cache: Path) -> None:
    # What a killed build leaves: a lock that nobody holds, and a folder that is no model.
    (empty_cache / "models" / f".{place(MICRO, 5).name}.half-done.1").mkdir(parents=True)
    place(MICRO, 5).with_suffix(".lock").touch()
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", ASK], stdout=subprocess.PIPE, text=True, env=ENV | {"ESWEB_CACHE": str(empty_cache)}
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=PATIENCE_SECONDS)[0].splitlines() for process in asking]
    assert {lines[-1] for lines in said} == {str(place(MICRO, 5))}
    made = sorted("Saving the micro model" in lines for lines in said)
    assert made == [False, True]
    assert (place(MICRO, 5) / "model.safetensors").is_file()


def test_a_model_that_is_there_is_not_made_again() -> None:
    made = (resolve("micro") / "esweb-model.json").stat()
    assert resolve("micro") == place(MICRO, 0)
    assert (resolve("micro") / "esweb-model.json").stat().st_mtime_ns == made.st_mtime_ns


def test_a_folder_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("checkpoint").mkdir()
    assert resolve("checkpoint") == tmp_path / "checkpoint"
    assert resolve(str(tmp_path / "checkpoint")) == tmp_path / "checkpoint"


@pytest.mark.parametrize("name", ["/no/such/folder", "nobody/no-such-model-of-ours", "a/b/c", ""])
def test_a_missing_model_is_refused_with_the_choices(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(
        ModelMissing, match="tiny, micro, a folder with a checkpoint, or a name on the Hugging Face hub"
    ):
        resolve(name)


def test_the_cache_is_in_the_home_folder_unless_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ESWEB_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place(MICRO, 0).parent == tmp_path / ".cache" / "esweb" / "models"
