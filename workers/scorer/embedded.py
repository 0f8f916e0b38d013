"""A scorer in the process itself: the tiny models, for a training that no service is to be started for. No torch."""

from __future__ import annotations

from collections.abc import Sequence

from workers.scorer.conversation import conversation, parted
from workers.scorer.scores import Scores
from workers.scorer.tiny import made


class EmbeddedScorer:
    """The tiny reward and cost models, trained in seconds where this machine has none yet."""

    def __init__(self) -> None:
        self._network = made()

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """One for each pair, in order, as the service gives them too. Raises ValueError where the lengths differ."""
        if len(prompts) != len(responses):
            raise ValueError(f"there are {len(prompts)} prompts and {len(responses)} responses")
        turns = [parted(conversation(p, r)) for p, r in zip(prompts, responses, strict=True)]
        return [Scores(float(reward), float(cost)) for reward, cost in self._network.scores(turns)]
