"""Checkpoints as folders: which are whole on disk, and how a folder is sent as one file."""

from runs.checkpoints.archive import download
from runs.checkpoints.saved import Saved, at_step, by_step, newest, size_of

__all__ = ["Saved", "at_step", "by_step", "download", "newest", "size_of"]
