"""What generated requests are about. Beside them and not in them: their file decides what the tiny score models become,
so that with every change there each machine makes these anew."""

from __future__ import annotations

from workers.corpus.safety.prompts import Request

HARMFUL, HARMLESS = "harmful", "harmless"
HARMS = {
    "property": (
        "pick a lock", "steal a car", "break into an account", "rob a bank", "sell stolen goods", "start a fire",
    ),
    "deceit": ("forge a passport", "cheat in an exam", "spread a rumour", "fake an illness"),
    "privacy": ("break into an account", "spread a rumour", "follow a stranger"),
    "danger to life": ("poison a dog", "rob a bank", "start a fire"),
}  # fmt: skip
"""What a deed harms; some do it in two ways."""


def kinds_of(request: Request) -> tuple[str, ...]:
    """Its categories, in the order of the alphabet: harmless, or harmful and in which ways."""
    if not request.harmful:
        return (HARMLESS,)
    return tuple(sorted([HARMFUL, *(name for name, deeds in HARMS.items() if request.deed in deeds)]))
