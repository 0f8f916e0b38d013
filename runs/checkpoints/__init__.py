"""Checkpoints as folders: find the complete ones on disk, and send a folder as one file."""

from runs.checkpoints.archive import Archive, Member, header, send
from runs.checkpoints.on_disk import SavedCheckpoint, at_step, by_step, is_replayed, newest, readable, size_of

__all__ = [
    "Archive",
    "Member",
    "SavedCheckpoint",
    "at_step",
    "by_step",
    "header",
    "is_replayed",
    "newest",
    "readable",
    "send",
    "size_of",
]
