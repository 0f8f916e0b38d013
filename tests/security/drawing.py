"""Runs a test on plans of sites drawn at random: a few, always the same, or as long as ESWEB_FUZZ_SECONDS says."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import transaction
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.security.fuzzing import SECONDS, SEED
from tests.security.plans import Plan, plans

EXAMPLES = 25
SHARE = 0.1
"""Of the seconds of a soak, for each such test."""
Test = Callable[[st.DataObject, Plan], None]


class TakenBack(Exception):
    """Ends what was done to one site."""


def on_random_sites(test: Test) -> Callable[[], None]:
    """The test with plans to try; what it did to the database is taken back before the next."""

    def all_of_them() -> None:
        end, number = time.monotonic() + SECONDS * SHARE, SEED
        while True:
            _round(test, number)
            number += 1
            if time.monotonic() >= end:
                return

    return all_of_them


def _round(test: Test, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck),
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
