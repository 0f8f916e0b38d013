"""The share of a card that a planned run takes with auto."""

from __future__ import annotations

from tests.cases import each_case
from workers.memory_plan import GB, CardPlan, claimed_bytes, share_of_card


def plan(needed_gb: float, card_gb: float) -> CardPlan:
    card = int(card_gb * GB)
    return CardPlan(card=card, usable=card, parts={"all": int(needed_gb * GB)})


@each_case(
    ("needed_gb", "card_gb", "share"),
    [(7.6, 150.8, 0.07), (0.1, 150.8, 0.02), (68.5, 150.8, 0.5), (69.5, 150.8, 1.0), (7.6, 24, 0.39), (90, 80, 1.0)],
)
def test_share_is_the_planned_memory_in_hundredths(needed_gb: float, card_gb: float, share: float) -> None:
    assert share_of_card(plan(needed_gb, card_gb)) == share


def test_claim_is_the_smallest_card_for_the_plan() -> None:
    run = plan(10, 80)
    assert 11.6 * GB < claimed_bytes(run) < 11.8 * GB
    # Exact hundredths are not rounded up.
    exact = CardPlan(card=claimed_bytes(run) * 4, usable=0, parts=run.parts)
    assert share_of_card(exact) == 0.25
