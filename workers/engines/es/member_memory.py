"""The memory that members take in addition to the model: how many answer concurrently, and if a device can hold
them."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from workers.config import EsConfig
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.trainable import TrainableWeights
from workers.models import Loaded
from workers.models.decoder import Decoder, Shape

# A fixed share, and not what is free now: a run must be the same run for any other users of its machine.
MEMBERS_BYTES_CPU = 2 * 1024**3
MEMBERS_SHARE_CUDA = 0.25
# Every token reads all weights of all members in the batch: copies of a small model are to stay in a CPU's cache.
COPIES_BYTES_CPU = 12 * 1024**2


@dataclass(frozen=True)
class MemberMemory:
    """The memory that members take on a device, for choosing the size of a batch and for refusing one.

    `shape` is None if transformers decodes, which answers one member after another.
    """

    shape: Shape | None
    device: torch.device
    bytes_per_member: int
    are_copies: bool

    @classmethod
    def measure(
        cls, loaded: Loaded, trained: TrainableWeights, perturbation: Perturbation, es: EsConfig
    ) -> MemberMemory:
        """Return the memory for a run with this config on this device."""
        shape = None if es.backend == "transformers" else Decoder(loaded.model, loaded.tokenizer).shape
        size = 0 if shape is None else trained.bytes_per_member(perturbation, shape)
        return cls(shape, loaded.device, size, not es.factor_rank)

    def fitting(self) -> int:
        """Return how many members should answer concurrently, for memory and cache; at least 1."""
        if self.shape is None:
            return 1
        cpu = COPIES_BYTES_CPU if self.are_copies else MEMBERS_BYTES_CPU
        most = self._available() if self.device.type == "cuda" else cpu
        return max(1, most // self.bytes_per_member)

    def refusal(self, members: int) -> str | None:
        """Return why this device cannot hold so many members together; None if it can."""
        needed, available = members * self.bytes_per_member, self._available()
        if members == 1 or (self.shape is not None and needed <= available):
            return None
        if self.shape is None:
            return f"the backend here is transformers, which decodes one member after another, not {members} together"
        return f"{members} members at once need {needed / 1e9:.1f} GB; here are {available / 1e9:.1f} GB for them"

    def _available(self) -> int:
        if self.device.type == "cuda":
            return int(MEMBERS_SHARE_CUDA * torch.cuda.get_device_properties(self.device).total_memory)
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
