"""A scorer in the process itself: the tiny models, for a training without a service of its own. No torch."""

from __future__ import annotations

from collections.abc import Sequence

from workers.scorer.conversation import conversation, split_turns
from workers.scorer.scores import Scores
from workers.scorer.tiny import load_network


class EmbeddedScorer:
    """The tiny reward and cost models, trained in seconds if this machine has none yet."""

    def __init__(self) -> None:
        self._network = load_network()

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """Return the scores of each pair, in order, as the service gives them too. Raise ValueError if the lengths
        differ."""
        if len(prompts) != len(responses):
            raise ValueError(f"there are {len(prompts)} prompts and {len(responses)} responses")
        turns = [split_turns(conversation(p, r)) for p, r in zip(prompts, responses, strict=True)]
        return [Scores(float(reward), float(cost)) for reward, cost in self._network.scores(turns)]
