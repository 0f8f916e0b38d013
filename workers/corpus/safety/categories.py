"""Categories of the generated requests. They are apart from the requests' own file, because that file decides what the
tiny score models become, so that each machine builds these again after every change there."""

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
"""Harms of deeds; some deeds harm in two ways."""


def kinds_of(request: Request) -> tuple[str, ...]:
    """Return a request's categories, in alphabetical order: harmless, or harmful and the kinds of harm."""
    if not request.harmful:
        return (HARMLESS,)
    return tuple(sorted([HARMFUL, *(name for name, deeds in HARMS.items() if request.deed in deeds)]))
