"""The responses that are still being written, one row each; and the member that each row belongs to.

Data of responses is in dimension 0 of some tensor; keys and values are in dimension 1, behind the columns (tokens), so
that those in use are close together. Finished responses leave the batch: rows of the tail move into their positions, so
that at most as much is copied as was removed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Places = npt.NDArray[np.int64]


class Even:
    """R rows that are M members' in turn, T = R / M of each: row m·T + t."""

    def __init__(self, members: int) -> None:
        self.members = members

    def spread(self, x: Tensor) -> Tensor:
        """Spread [R, n] to [M, T, n], for a product with something that each member has."""
        return x.view(self.members, -1, x.shape[-1])

    def gather(self, x: Tensor) -> Tensor:
        """Gather [M, T, n] to [R, n]."""
        return x.reshape(-1, x.shape[-1])

    def times(self, x: Tensor, per_member: Tensor) -> Tensor:
        """Multiply [R, n] or [R, heads, n] by the factor [M, n] of each row's member, in place."""
        self.spread(x).mul_(per_member.unsqueeze(1))
        return x

    def plus(self, x: Tensor, per_member: Tensor) -> Tensor:
        """Add the summand [M, n] of each row's member to [R, n], in place."""
        self.spread(x).add_(per_member.unsqueeze(1))
        return x

    def add_outer(self, y: Tensor, cut: slice, weight: Tensor, per_member: Tensor) -> None:
        """Add weight [R, 1] times the vector [M, n] of each row's member to y[:, cut], in place."""
        self.spread(y)[..., cut].addcmul_(self.spread(weight), per_member.unsqueeze(1))

    def of_tokens(self, tokens: Tensor, tables: Tensor) -> Tensor:
        """Return each row's own entry of its member's table: tokens [R], tables [M, V, n] -> [R, n]."""
        member = torch.arange(self.members, device=tokens.device).unsqueeze(1)
        return self.gather(tables[member, tokens.view(self.members, -1)])


class Ragged:
    """Rows of M members in any order and number, `member` [R]. As `Even`, with T the most that one member has."""

    def __init__(self, member: Tensor, members: int) -> None:
        self.members = members
        self._member = member
        slot, index, self._longest = _slots(member.cpu().numpy(), members)
        self._slot = torch.from_numpy(slot).to(member.device)
        self._index = torch.from_numpy(index).to(member.device)

    def spread(self, x: Tensor) -> Tensor:
        """Spread the rows; members with fewer rows get some row again as a filler."""
        return x.index_select(0, self._index).view(self.members, self._longest, x.shape[-1])

    def gather(self, x: Tensor) -> Tensor:
        return x.reshape(-1, x.shape[-1]).index_select(0, self._slot)

    def times(self, x: Tensor, per_member: Tensor) -> Tensor:
        factor = per_member.index_select(0, self._member)
        return x.mul_(factor if x.dim() == 2 else factor.unsqueeze(1))

    def plus(self, x: Tensor, per_member: Tensor) -> Tensor:
        return x.add_(per_member.index_select(0, self._member))

    def add_outer(self, y: Tensor, cut: slice, weight: Tensor, per_member: Tensor) -> None:
        y[:, cut].addcmul_(weight, per_member.index_select(0, self._member))

    def of_tokens(self, tokens: Tensor, tables: Tensor) -> Tensor:
        return tables[self._member, tokens]


Placement = Even | Ragged


def _slots(member: Places, members: int) -> tuple[Places, Places, int]:
    """Return (slot [R] of each row in the spread-out rows, row [M·T] at each such slot, T)."""
    counts = np.bincount(member, minlength=members)
    longest = int(counts.max())
    order = np.argsort(member, kind="stable")
    rank = np.arange(len(member)) - np.repeat(counts.cumsum() - counts, counts)
    slot = np.empty(len(member), dtype=np.int64)
    slot[order] = member[order] * longest + rank
    index = np.zeros(members * longest, dtype=np.int64)
    index[slot] = np.arange(len(member))
    return slot, index, longest


class Rows(dict[str, Tensor]):
    """Named tensors [R, …], changed together; "member" [R] is one of them.

    `caches`: keys and values by name, [columns, R, kv heads, hd], changed with them; their later rows are left over.
    """

    def __init__(self, members: int, prompts: int, device: torch.device) -> None:
        self.placement: Placement = Even(members)
        self.caches: dict[str, Tensor] = {}
        self._members = members
        self["member"] = torch.arange(members, device=device).repeat_interleave(prompts)

    def of_members(self, cache: str, members: int, columns: int) -> Tensor:
        """Return the first columns of a cache, [columns, M, R / M, kv heads, hd], as long as no response has left."""
        whole = self.caches[cache][:columns]
        return whole.view(columns, members, whole.shape[1] // members, *whole.shape[2:])

    def cache(self, name: str, columns: int) -> Tensor:
        """Return the first columns of a cache, of the responses that are still being written."""
        return self.caches[name][:columns, : len(self["member"])]

    def drop(self, finished: Tensor, columns: int) -> None:
        """Remove the responses where `finished` [R] is true; so many columns of the caches are in use."""
        gone = finished.cpu().numpy()
        count = int((~gone).sum())
        holes = torch.from_numpy(np.flatnonzero(gone[:count])).to(finished.device)
        movers = torch.from_numpy(count + np.flatnonzero(~gone[count:])).to(finished.device)
        for name, tensor in self.items():
            if len(holes):
                tensor[holes] = tensor[movers]
            self[name] = tensor[:count]
        for cache in self.caches.values() if len(holes) else ():
            # Whole, not cut: into a part of its rows this would copy everything.
            cache[:columns].index_copy_(1, holes, cache[:columns].index_select(1, movers))
        self.placement = Ragged(self["member"], self._members) if self._members > 1 else Even(1)
