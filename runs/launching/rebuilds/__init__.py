"""Rebuild and download checkpoints."""

from runs.launching.rebuilds.commands import (
    KEPT_A_RUN,
    CannotRebuild,
    NotThere,
    checkpoint_at,
    is_ready,
    last_step,
    open_checkpoint,
    rebuild_checkpoint,
    rebuild_refusal,
    stop_rebuild,
    throw_away_old,
)
from runs.launching.rebuilds.views import checkpoints_context

__all__ = [
    "KEPT_A_RUN",
    "CannotRebuild",
    "NotThere",
    "checkpoint_at",
    "checkpoints_context",
    "is_ready",
    "last_step",
    "open_checkpoint",
    "rebuild_checkpoint",
    "rebuild_refusal",
    "stop_rebuild",
    "throw_away_old",
]
