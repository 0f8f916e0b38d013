"""Rebuild and download checkpoints."""

from runs.launching.rebuilds.commands import (
    CannotRebuild,
    checkpoint_at,
    delete_old_rebuilds,
    delete_rebuild,
    is_ready,
    rebuild_checkpoint,
    stop_rebuild,
)
from runs.launching.rebuilds.views import checkpoints_context, request_checkpoint

__all__ = [
    "CannotRebuild",
    "checkpoint_at",
    "checkpoints_context",
    "delete_old_rebuilds",
    "delete_rebuild",
    "is_ready",
    "rebuild_checkpoint",
    "request_checkpoint",
    "stop_rebuild",
]
