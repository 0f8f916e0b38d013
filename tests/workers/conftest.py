"""The micro model, for tests that need a real one. torch is imported by the tests that ask for it and by no other."""

from __future__ import annotations

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
