"""The list of intervals is complete: each module that computes one is named by a simulation, or has another purpose."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.intervals.claim import USUAL, Claim, Tally, batch
from tests.intervals.every import CLAIMS, NO_INTERVAL
from tests.intervals.over_prompts import greedy_interval
from tests.intervals.sources import computes_intervals, interval_modules


def test_each_module_that_computes_an_interval_is_simulated() -> None:
    named = {module for claim in CLAIMS for module in claim.modules}
    assert interval_modules() - named - set(NO_INTERVAL) == set(), "add a row for it to tests/intervals"
    assert (named | set(NO_INTERVAL)) - interval_modules() == set(), "these modules compute no interval"


def test_names_are_unique_and_low_tolerances_have_a_reason() -> None:
    assert [name for name, n in Counter(claim.name for claim in CLAIMS).items() if n > 1] == []
    low = [claim.name for claim in CLAIMS if claim.nominal - claim.at_least > USUAL + 1e-9 and not claim.note]
    assert low == []
    assert [claim.name for claim in CLAIMS if not claim.cases or claim.at_least > claim.nominal] == []


def test_source_with_an_interval_is_recognised() -> None:
    assert computes_intervals("low, high = np.quantile(draws, (0.025, 0.975))")
    assert computes_intervals("half = t_quantile(n - 1) * error")
    assert not computes_intervals("from workers.analysis.student_t import t_quantile")


def test_interval_that_is_too_narrow_is_low() -> None:
    half = Claim("half as wide", "nowhere", (), {"8": batch(lambda rng: bool(abs(rng.normal()) < 0.98), 500)})
    tally = Tally(half, "8")
    assert tally.is_low
    tally.add(half.cases["8"](np.random.default_rng(1)))
    assert tally.is_low and 0.6 < tally.coverage < 0.74


def test_wilsons_interval_of_few_prompts_is_not_low() -> None:
    tally = Tally(next(claim for claim in CLAIMS if claim.name == "greedy accuracy, p = 0.9"), "8 prompts")
    tally.add(batch(lambda rng: greedy_interval(rng, 8, 0.9), 500)(np.random.default_rng(1)))
    assert not tally.is_low
