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
def load_network(seed: int = 0) -> Network:
    """Return the network. It is safe to call from many processes at the same time: each one without a file trains the
    same one."""
    file = network_path(seed)
    if not file.exists():
        _save(training.train(safety.judged_answers("train", ANSWERS, seed), seed), file)
    with np.load(file, allow_pickle=False) as weights:
        return Network(*(weights[name] for name in WEIGHTS))


def network_path(seed: int) -> Path:
    """Return the path of its file, whether or not it exists. The name changes with the code and the text that train
    it."""
    return cache_folder() / "models" / f"tiny-scorer-{version()}-{seed}.npz"


@cache
def version() -> str:
    """Return twelve hex digits over everything that determines the network, except its seed."""
    digest = hashlib.sha256(str(ANSWERS).encode())
    for module in (requests, safety.prompts, safety.answers, network, training):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:12]


def _save(trained: Network, file: Path) -> None:
    """Save the whole file or nothing: a concurrent reader gets the previous file or this one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}.part")
    with part.open("wb") as out:
        np.savez(out, **{name: getattr(trained, name) for name in WEIGHTS})
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)
