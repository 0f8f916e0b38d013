from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workers.models import Loaded


@pytest.fixture(scope="session")
def micro(micro_of_transformers: Loaded) -> Loaded:
    """TRL trains classes of transformers."""
    return micro_of_transformers
