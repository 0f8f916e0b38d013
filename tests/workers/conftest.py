"""The micro model, for tests that need a real one. torch is imported by the tests that ask for it and by no other."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workers.models import Loaded


@pytest.fixture(scope="session")
def micro() -> Loaded:
    """The micro model on the CPU. It belongs to all tests: copy it before changing it."""
    from workers.config import ModelConfig
    from workers.models import load

    return load(ModelConfig(path="micro", device="cpu"))


@pytest.fixture
def signals_put_back() -> Iterator[None]:
    """For tests that call the trainer's command: it takes over signals of its process, which there is the tests'."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
