"""Training of models: one package per method, each with `train(context)`. A package is imported when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.engines.context import Context


def engine(method: str) -> Callable[[Context], None]:
    """Return the `train` of a method. Its libraries are imported here, so that an ES run never waits for TRL."""
    train: Callable[[Context], None] = import_module(f"workers.engines.{method}").train
    return train
