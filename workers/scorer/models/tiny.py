"""The project's own tiny score models, as the service sees them. No torch."""

from __future__ import annotations

from collections.abc import Sequence

from workers.scorer.conversation import split_turns
from workers.scorer.models.base import Role, ScoreBatch
from workers.scorer.tiny import load_network


class TinyModel:
    """A score model that returns one of the tiny network's two numbers."""

    name, device = "tiny", "cpu"

    def __init__(self, role: Role) -> None:
        self._network, self._column = load_network(), ("reward", "cost").index(role)

    def scores(self, texts: Sequence[str]) -> ScoreBatch:
        """See ScoreModel. It looks at texts of any length."""
        return ScoreBatch(self._network.scores([split_turns(text) for text in texts])[:, self._column].tolist())
