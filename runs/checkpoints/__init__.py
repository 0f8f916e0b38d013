"""Checkpoints as folders: which are whole on disk, and how a folder is sent as one file."""

from runs.checkpoints.archive import Archive, Member, header, send
from runs.checkpoints.saved import Saved, at_step, by_step, newest, size_of

__all__ = ["Archive", "Member", "Saved", "at_step", "by_step", "header", "newest", "send", "size_of"]
