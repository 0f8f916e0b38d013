"""Runs a test on plans of sites drawn at random: a few, always the same, and in a soak others for its duration."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests import soaking
from tests.security.site_plans import Plan, plans

SEED = soaking.seed(1)
EXAMPLES = 25
"""Sites of a round in a soak."""
Test = Callable[[st.DataObject, Plan], None]


class TakenBack(Exception):
    """Ends what was done to one site."""


def on_random_sites(few: int) -> Callable[[Test], Callable[[], None]]:
    """Return a decorator that tries a test on so many plans, in a soak on more.

    What the test did to the database is taken back before the next plan.
    """
    examples = EXAMPLES if soaking.SECONDS else few

    def decorate(test: Test) -> Callable[[], None]:
        def all_of_them() -> None:
            for number in soaking.rounds(1, f"rounds of {examples} sites"):
                _round(test, SEED + number, examples)

        return all_of_them

    return decorate


def _round(test: Test, number: int, examples: int) -> None:
    @seed(number)
    @settings(
        max_examples=examples, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )  # fmt: skip
    @given(st.data())
    def one(data: st.DataObject) -> None:
        try:
            with transaction.atomic():
                test(data, data.draw(plans()))
                raise TakenBack
        except TakenBack:
            pass

    one()
