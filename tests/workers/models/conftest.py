from __future__ import annotations

import pytest

from workers.config import ModelConfig
from workers.models import Loaded, load


@pytest.fixture(scope="session")
def micro() -> Loaded:
    return load(ModelConfig(path="micro", device="cpu"))
