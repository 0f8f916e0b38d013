"""What files call a tournament's prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from judging.models import ChosenPrompt


def called(chosen: Sequence[ChosenPrompt]) -> dict[int, str]:
    """primary key -> its name where it has one of its own, else enough of its digest. No name is two's."""
    names = Counter(one.prompt.name for one in chosen)
    return {
        one.pk: one.prompt.name if one.prompt.name.strip() and names[one.prompt.name] == 1 else one.prompt.word
        for one in chosen
    }
