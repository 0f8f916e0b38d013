"""Run a test on random plans of sites: a few, always the same, and in a soak others for its duration."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests import soak_plugin
from tests.security.site_plans import Plan, plans

SEED = soak_plugin.seed(1)
EXAMPLES = 25
"""Number of sites of a round in a soak."""
Test = Callable[[st.DataObject, Plan], None]


class RolledBack(Exception):
    """Raised to roll back the changes to one site."""


def on_random_sites(few: int) -> Callable[[Test], Callable[[], None]]:
    """Return a decorator that runs a test on so many plans, in a soak on more.

    The test's changes to the database are rolled back before the next plan.
    """
    examples = EXAMPLES if soak_plugin.SECONDS else few

    def decorate(test: Test) -> Callable[[], None]:
        def test_all() -> None:
            for number in soak_plugin.rounds(1, f"rounds of {examples} sites"):
                _run_round(test, SEED + number, examples)

        return test_all

    return decorate


def _run_round(test: Test, number: int, examples: int) -> None:
    @seed(number)
    @settings(
        max_examples=examples, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )  # fmt: skip
    @given(st.data())
    def run_example(data: st.DataObject) -> None:
        try:
            with transaction.atomic():
                test(data, data.draw(plans()))
                raise RolledBack
        except RolledBack:
            pass

    run_example()
