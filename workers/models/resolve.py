"""A model's name in a config -> a folder on this machine. The project's own models are built on first use."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from huggingface_hub import snapshot_download

from workers.config import ConfigError, Problem
from workers.config.cache import cache_folder
from workers.models.tiny.recipe import RECIPES, Recipe, code_hash

if TYPE_CHECKING:
    from workers.models.tiny.build import Progress

HUB_FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]


class ModelMissing(ConfigError):
    """There is no such model here. The message names the choices."""

    def __init__(self, message: str) -> None:
        super().__init__([Problem("model.path", message)])


def resolve(path: str, progress: Progress | None = None, *, seed: int = 0) -> Path:
    """Return the folder of a model: tiny and micro are built once into the cache, a folder is itself, else the hub is
    used.

    Raise ModelMissing. Safe to call from many processes concurrently: one builds, the others wait for it.
    """
    if path in RECIPES:
        return _build_once(RECIPES[path], seed, progress or (lambda message, share: None))
    # An empty path is the current folder to pathlib, and a mistake here.
    if path and Path(path).is_dir():
        return Path(path).resolve()
    return _from_hub(path)


def model_folder(recipe: Recipe, seed: int) -> Path:
    """Return the folder of one of our models once it is built. The name changes with the code that builds it."""
    return cache_folder() / "models" / f"{recipe.name}-{code_hash()}-{seed}"


def _build_once(recipe: Recipe, seed: int, progress: Progress) -> Path:
    folder = model_folder(recipe, seed)
    if folder.is_dir():
        return folder
    # Imported here, because building needs transformers' modelling code, and a model that is there does not.
    from workers.models.tiny.build import build

    folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock_build(folder.with_suffix(".lock"), recipe, progress):
        if not folder.is_dir():
            build(recipe, folder, seed, progress)
    return folder


@contextmanager
def _lock_build(lock: Path, recipe: Recipe, progress: Progress) -> Iterator[None]:
    """Hold the file lock; the kernel releases it when a process dies, so a killed build blocks nobody."""
    with lock.open("a") as file:
        if not _try_lock(file.fileno()):
            progress(f"Waiting for another process that builds the {recipe.name} model", 0.0)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _from_hub(name: str) -> Path:
    """Return a model of the Hugging Face hub, from its cache on disk if it is there. HF_HUB_OFFLINE is respected."""
    try:
        return Path(snapshot_download(name, allow_patterns=HUB_FILES))
    except (OSError, ValueError) as error:
        choices = f"give {', '.join(RECIPES)}, a folder with a checkpoint, or a name on the Hugging Face hub"
        reason = str(error).strip().partition("\n")[0]
        raise ModelMissing(
            f"the model {name!r} does not exist: {choices} ({type(error).__name__}: {reason})"
        ) from error
