"""The prompts and answer lengths that every population on a GPU is measured with.

200 prompts of 12 tokens. The length of each answer is drawn once from exp(N(5.0, 0.55)), cut to 16 … 512 tokens: half
of them are shorter than 150, and the longest is three times as long. Answers are greedy, and no token ends them early.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PROMPTS, PROMPT_TOKENS, LONGEST = 200, 12, 512
MEMBERS, SIGMA = 30, 1e-3


@dataclass(frozen=True)
class Workload:
    """Token ids of each prompt, and the tokens of its answer."""

    prompts: list[list[int]]
    lengths: list[int]

    @property
    def tokens(self) -> int:
        """Return the tokens that one member answers."""
        return sum(self.lengths)


def draw_workload(vocabulary: int, seed: int = 110) -> Workload:
    """Return the workload, the same for every program that draws it."""
    generator = np.random.default_rng(seed)
    lengths = np.clip(np.exp(generator.normal(5.0, 0.55, PROMPTS)), 16, LONGEST).astype(int)
    prompts = generator.integers(1, vocabulary - 1, (PROMPTS, PROMPT_TOKENS))
    return Workload(prompts.tolist(), lengths.tolist())


def length_reward(text: str) -> float:
    """Return a reward that costs nothing to compute: the shorter, the better."""
    return -float(len(text))
