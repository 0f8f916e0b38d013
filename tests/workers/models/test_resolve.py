"""A model's name becomes a folder: built once for all callers, or found, or refused with the choices."""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from workers.models import ModelMissing, resolve
from workers.models.resolve import model_folder
from workers.models.tiny.recipe import MICRO, RECIPES


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ESWEB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_concurrent_resolves_build_model_once(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is that of an open file, so it holds two threads apart as it does two processes."""
    monkeypatch.setitem(RECIPES, "micro", dataclasses.replace(MICRO, corpus_pairs=256, steps=2))
    # What a killed build leaves: a lock that nobody holds, and a folder that is no model.
    (empty_cache / "models" / f".{model_folder(MICRO, 5).name}.half-done.1").mkdir(parents=True)
    model_folder(MICRO, 5).with_suffix(".lock").touch()
    both_ask = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    def ask(_: int) -> tuple[Path, list[str]]:
        messages: list[str] = []
        both_ask.wait()
        return resolve("micro", lambda message, share: messages.append(message.partition(":")[0]), seed=5), messages

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(ask, range(2)))
    assert [folder for folder, _ in answers] == [model_folder(MICRO, 5)] * 2
    assert sorted("Saving the micro model" in messages for _, messages in answers) == [False, True]
    assert (model_folder(MICRO, 5) / "model.safetensors").is_file()


def test_existing_model_is_not_built_again() -> None:
    built = (resolve("micro") / "esweb-model.json").stat()
    assert resolve("micro") == model_folder(MICRO, 0)
    assert (resolve("micro") / "esweb-model.json").stat().st_mtime_ns == built.st_mtime_ns


def test_folder_resolves_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_cache_is_in_home_folder_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ESWEB_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert model_folder(MICRO, 0).parent == tmp_path / ".cache" / "esweb" / "models"
