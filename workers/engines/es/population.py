"""The members' answers: as many members in one batch as rows and memory allow, or one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from workers.config import EsConfig
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.trained import Trained
from workers.models.decoder import Completion, Decoder, Prompt

# What the members of one batch may take beside the model. A fixed share, never what happens to be free: a batch of
# another size rounds otherwise, and a run must be the same run whoever shares its machine.
MEMBERS_BYTES_CPU = 2 * 1024**3
MEMBERS_SHARE_CUDA = 0.25
# Every token reads all weights of all members in the batch: copies of a small model are to stay in a CPU's cache.
COPIES_BYTES_CPU = 12 * 1024**2


class Population:
    """The perturbed copies of a model. The model holds the centre again after every batch."""

    def __init__(self, trained: Trained, perturbation: Perturbation, decoder: Decoder, es: EsConfig) -> None:
        self._trained = trained
        self._perturbation = perturbation
        self._decoder = decoder
        self._es = es

    def answers(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> Iterator[list[list[Completion]]]:
        """Greedy answers [member][prompt], batch after batch, in the order of the seeds."""
        batches = -(-len(seeds) // self.members_at_once(len(prompts)))
        size = -(-len(seeds) // batches)
        for start in range(0, len(seeds), size):
            some = seeds[start : start + size]
            yield [self._alone(some[0], prompts)] if len(some) == 1 else self._together(some, prompts)

    def centre(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Greedy answers of the weights that no noise perturbs."""
        return self._decoder.greedy(prompts, self._es.max_new_tokens)

    def members_at_once(self, prompts: int) -> int:
        """Members in one batch. 1 for an architecture that the decoder does not know."""
        if self._decoder.shape is None:
            return 1
        copies = self._es.lora is None and self._es.noise != "low_rank"
        bytes_each = self._trained.bytes_per_member(self._perturbation, self._decoder.shape)
        fit = _bytes_for_members(self._decoder.ends.device, copies) // bytes_each
        return max(1, min(self._es.rows // prompts, fit, self._es.population))

    def _together(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> list[list[Completion]]:
        weights = self._trained.members(seeds, self._perturbation, self._decoder.known_shape())
        return self._decoder.population(weights, prompts, self._es.max_new_tokens)

    def _alone(self, seed: int, prompts: Sequence[Prompt]) -> list[Completion]:
        """Puts cast(master + σ ε) into the model itself, and the centre back afterwards."""
        try:
            self._trained.write(self._perturbation.member(seed, self._trained.master))
            return self._decoder.greedy(prompts, self._es.max_new_tokens)
        finally:
            self._trained.write(self._trained.master.__getitem__)


def _bytes_for_members(device: torch.device, copies: bool) -> int:
    if device.type != "cuda":
        return COPIES_BYTES_CPU if copies else MEMBERS_BYTES_CPU
    return int(MEMBERS_SHARE_CUDA * torch.cuda.get_device_properties(device).total_memory)
