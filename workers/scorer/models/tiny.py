"""The project's own tiny score models, as the service sees them. No torch."""

from __future__ import annotations

from collections.abc import Sequence

from workers.scorer.conversation import parted
from workers.scorer.models.base import Role, Scored
from workers.scorer.tiny import made


class TinyModel:
    """One of the two numbers that the tiny network gives."""

    name, device = "tiny", "cpu"

    def __init__(self, role: Role) -> None:
        self._network, self._column = made(), ("reward", "cost").index(role)

    def scores(self, texts: Sequence[str]) -> Scored:
        """See ScoreModel. It looks at texts of any length."""
        return Scored(self._network.scores([parted(text) for text in texts])[:, self._column].tolist())
