"""The micro model, for tests that need a real one. Only tests that use it import torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workers.models import Loaded

# For tests that compute on two threads: who waits for the other sleeps. torch reads it when it is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Let torch compute on one thread: on a busy machine, several spend most of their time waiting for each other."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def no_collections_before_trainings() -> Iterator[None]:
    """Keep accelerate from collecting garbage before each training: with all tests collected, that takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        if memory := sys.modules.get("accelerate.utils.memory"):
            patch.setattr(memory, "gc", SimpleNamespace(collect=lambda: 0))
        yield


@pytest.fixture(scope="session")
def micro() -> Loaded:
    """The micro model on the CPU. It belongs to all tests: copy it before changing it."""
    from workers.config import ModelConfig
    from workers.models import load

    return load(ModelConfig(path="micro", device="cpu"))


@pytest.fixture(scope="session")
def micro_of_transformers() -> Loaded:
    """Load the same weights into a class of transformers: GRPO trains it, and our own class must equal it."""
    from workers.config import ModelConfig
    from workers.models import load

    return load(ModelConfig(path="micro", device="cpu"), needs_transformers=True)
