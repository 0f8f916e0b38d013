"""Rebuild and download checkpoints."""

from runs.launching.rebuilds.commands import (
    MAX_REBUILDS_PER_RUN,
    CannotRebuild,
    CheckpointUnavailable,
    checkpoint_at,
    delete_old_rebuilds,
    is_ready,
    open_checkpoint,
    rebuild_checkpoint,
    rebuild_refusal,
    stop_rebuild,
)
from runs.launching.rebuilds.views import checkpoints_context, request_checkpoint

__all__ = [
    "MAX_REBUILDS_PER_RUN",
    "CannotRebuild",
    "CheckpointUnavailable",
    "checkpoint_at",
    "checkpoints_context",
    "delete_old_rebuilds",
    "is_ready",
    "open_checkpoint",
    "rebuild_checkpoint",
    "rebuild_refusal",
    "request_checkpoint",
    "stop_rebuild",
]
