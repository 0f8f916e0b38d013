"""The tiny score models, trained on first use and kept in the cache of this machine."""

from __future__ import annotations

import hashlib
import os
import secrets
from functools import cache
from pathlib import Path

import numpy as np

from workers.config.cache import cache_folder
from workers.corpus import requests, safety
from workers.scorer.tiny import network, training
from workers.scorer.tiny.network import Network

ANSWERS = 6000
WEIGHTS = ("into", "bend", "out", "level")


@cache
def made(seed: int = 0) -> Network:
    """The network. Safe to call from many processes at once: each that finds none makes the same one."""
    file = place(seed)
    if not file.exists():
        _keep(training.train(safety.judged_answers("train", ANSWERS, seed), seed), file)
    with np.load(file, allow_pickle=False) as weights:
        return Network(*(weights[name] for name in WEIGHTS))


def place(seed: int) -> Path:
    """Where it is kept, made or not. Its name changes with the code and the text that make it."""
    return cache_folder() / "models" / f"tiny-scorer-{version()}-{seed}.npz"


@cache
def version() -> str:
    """Twelve hex digits over everything that decides what it becomes, its seed apart."""
    digest = hashlib.sha256(str(ANSWERS).encode())
    for module in (requests, safety.prompts, safety.judged, network, training):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:12]


def _keep(made_now: Network, file: Path) -> None:
    """Whole or not at all: whoever reads at the same time finds the file of before or this one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}.part")
    with part.open("wb") as out:
        np.savez(out, **{name: getattr(made_now, name) for name in WEIGHTS})
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)
