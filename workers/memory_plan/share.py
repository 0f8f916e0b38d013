"""The share of a card that a planned run takes with `compute.gpus: auto`: one rule for sites, reports and pages."""

from __future__ import annotations

import math

from workers.memory_plan.card import CONTEXT_BYTES, SHARE, CardPlan

STEPS = 100
"""Shares are whole hundredths of a card."""
MIN_SHARE, MAX_SHARE = 0.02, 0.5
"""A run whose plan needs more than half of a card has all of it: no second one of its size would fit beside it."""


def claimed_bytes(plan: CardPlan) -> int:
    """Return the bytes that a run takes of its card: its plan, the gaps of the allocator, and CUDA's contexts, one for
    each engine.

    A card of so many bytes is the smallest one for which the same plan fits.
    """
    return math.ceil((plan.needed + max(1, plan.engines) * CONTEXT_BYTES) / SHARE)


def share_of_card(plan: CardPlan) -> float:
    """Return the share of the plan's card that the run takes: rounded up to hundredths, and 1 above one half."""
    # The quotient of a plan that needs exactly 0.29 of a card is a little more.
    share = math.ceil(round(STEPS * claimed_bytes(plan) / plan.card, 6)) / STEPS
    return 1.0 if share > MAX_SHARE else max(share, MIN_SHARE)
