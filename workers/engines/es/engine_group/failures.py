"""Failures of a group of engines: weights that differ, and no engine left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


class EnginesDiffer(RuntimeError):
    """Engines that must hold equal bits do not. The message names engines and step."""


class EnginesLost(RuntimeError):
    """No engine is left. The message says why each was lost."""


def describe_difference(hashes: Mapping[int, str], step: int) -> str:
    """Describe which engines hold other weights than the rest after `step`. hashes: engine -> hash of its weights."""
    (common, count), *others = Counter(hashes.values()).most_common()
    different = [f"engine {number}" for number, weights in sorted(hashes.items()) if weights != common]
    if others and others[0][1] < count:
        detail = f"{', '.join(different)} must have the weights of the other {count}, but does not"
    else:
        detail = f"{', '.join(f'engine {number} has {weights[:8]}' for number, weights in sorted(hashes.items()))}"
    return (
        f"the engines' weights differ after step {step}: {detail}. Memory or a device may be faulty. Resume the run "
        "from its last checkpoint, which was saved while they were equal"
    )
