"""The answers that are still being written: finished ones leave the batch, and the rest close up.

Everything kept for an answer has the shape [K, M, …]: K places for each of M members. A place in the tail moves into a
hole of the same member, so what is copied is at most what left. A member with fewer answers going than the longest
one keeps finished ones as fillers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Places = npt.NDArray[np.int64]


class Rows(dict[str, Tensor]):
    """Named tensors [K, M, …], kept in step with each other."""

    def drop(self, finished: Tensor) -> None:
        """Lets answers leave where `finished` [K, M] is true, as many as every member can spare."""
        gone = finished.cpu().numpy()
        width = int((~gone).sum(axis=0).max())
        if width == len(gone):
            return
        member, hole, mover = (torch.from_numpy(a).to(finished.device) for a in _moves(gone, width))
        for name, tensor in self.items():
            if len(hole):
                tensor[hole, member] = tensor[mover, member]
            self[name] = tensor[:width]


def _moves(gone: npt.NDArray[np.bool_], width: int) -> tuple[Places, Places, Places]:
    """(member, hole, the place beyond `width` that fills it) of each answer that must move."""
    member, late = np.nonzero(~gone[width:].T)
    # The n-th late answer of a member fills that member's n-th hole.
    hole_member, hole = np.nonzero(gone[:width].T)
    first = np.searchsorted(hole_member, np.arange(gone.shape[1]))
    rank = np.arange(len(member)) - np.searchsorted(member, np.arange(gone.shape[1]))[member]
    return member, hole[first[member] + rank], late + width
