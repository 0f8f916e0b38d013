"""λ against tables worked out by hand: the published rule, with and without its positive part, and Safe-RLHF's."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest

from workers.config import ConfigError, SafetyOptions, decode
from workers.tasks.safety import Multiplier, Rule

PUBLISHED: dict[str, Any] = {"lambda_rule": "published", "lambda_init": 1.0, "lambda_lr": 0.1, "lambda_ema": 0.9}
SAFE_RLHF: dict[str, Any] = PUBLISHED | {"lambda_rule": "safe_rlhf", "lambda_ema": 0.0}
COSTS = [2.0, 1.0, -1.0, -3.0]


def rule(**options: Any) -> Rule:
    return Rule.of(SafetyOptions(**options))


def trace(rule: Rule, costs: list[float]) -> list[Multiplier]:
    """λ after each cost."""
    return [*accumulate(costs, rule.moved, initial=rule.first)][1:]


def test_the_published_rule_adds_the_rate_times_the_average_to_ln_lambda() -> None:
    found = trace(rule(**PUBLISHED, lambda_positive_only=False), COSTS)
    # m: 2 | .9·2 + .1·1 | .9·1.9 − .1 | .9·1.61 − .3     ln λ: sums of a tenth of it
    assert [m.smoothed for m in found] == pytest.approx([2.0, 1.9, 1.61, 1.149], abs=1e-12)
    assert [m.value for m in found] == pytest.approx(
        [1.2214027581601699, 1.4769807938826426, 1.7349871378007193, 1.9462413505610040], rel=1e-14
    )


def test_the_positive_part_alone_lets_lambda_only_grow() -> None:
    found = trace(rule(**PUBLISHED, lambda_positive_only=True), COSTS)
    # J: 2, 1, 0, 0     m: 2 | 1.9 | .9·1.9 | .9·1.71
    assert [m.smoothed for m in found] == pytest.approx([2.0, 1.9, 1.71, 1.539], abs=1e-12)
    assert [m.value for m in found] == pytest.approx(
        [1.2214027581601699, 1.4769807938826426, 1.7524240484244910, 2.0439822738109237], rel=1e-14
    )


def test_safe_rlhf_moves_faster_the_larger_lambda_is() -> None:
    found = trace(rule(**SAFE_RLHF), COSTS[:3])
    # ln λ: 0 + .1·2·1 | + .1·1·1.2214… | − .1·1·1.3800…
    assert [m.value for m in found] == pytest.approx(
        [1.2214027581601699, 1.3800783539970446, 1.2021750291147495], rel=1e-14
    )


def test_the_offset_says_how_much_cost_is_allowed() -> None:
    found = trace(rule(**SAFE_RLHF | {"lambda_init": 2.0}, cost_offset=-0.5), [1.5, -0.5])
    # ln λ: ln 2 + .1·(1.5 − .5)·2 | + .1·(−.5 − .5)·2.4428…
    assert [m.value for m in found] == pytest.approx([2.4428055163203397, 1.9133710402710403], rel=1e-14)
    assert [m.smoothed for m in found] == [1.0, -1.0]


def test_a_fixed_lambda_stays_and_the_average_is_kept() -> None:
    found = trace(rule(**PUBLISHED | {"lambda_rule": "fixed"}), COSTS)
    assert {m.value for m in found} == {1.0}
    assert found[1].smoothed == pytest.approx(1.9)


def test_lambda_keeps_to_its_limits_however_far_it_is_pushed() -> None:
    narrow = {"lambda_min": 0.5, "lambda_max": 5.0, "lambda_positive_only": False}
    assert trace(rule(**PUBLISHED | narrow | {"lambda_lr": 1.0}), [1e6])[-1].value == 5.0
    assert trace(rule(**PUBLISHED | narrow | {"lambda_lr": 1.0}), [-1e6])[-1].value == 0.5


def test_costs_that_stay_negative_bring_lambda_to_its_lower_limit_from_which_it_comes_back() -> None:
    falling = PUBLISHED | {"lambda_lr": 1.0, "lambda_ema": 0.0, "lambda_positive_only": False}
    found = trace(rule(**falling), [-3.0, -3.0, -3.0, -3.0, -3000.0, 2.0])
    # e^-3, e^-6, e^-9, then the limit for e^-12 and for what underflows; at last the limit times e^2
    assert [m.value for m in found] == pytest.approx(
        [0.049787068367863944, 0.0024787521766663585, 1.2340980408667956e-4, 1e-4, 1e-4, 7.389056098930650e-4],
        rel=1e-13,
    )


def test_the_average_that_brought_lambda_down_keeps_it_there_until_it_has_turned() -> None:
    slow = PUBLISHED | {"lambda_lr": 1.0, "lambda_ema": 0.5, "lambda_positive_only": False}
    found = trace(rule(**slow), [-16.0, 8.0, 8.0, 8.0])
    # m: -16 | -4 | 2 | 5
    assert [m.smoothed for m in found] == [-16.0, -4.0, 2.0, 5.0]
    assert [m.value for m in found] == pytest.approx([1e-4, 1e-4, 7.389056098930650e-4, 0.10966331584284585], rel=1e-13)


def test_taken_up_amid_a_trace_it_goes_on_with_the_same_bits() -> None:
    moving = rule(**PUBLISHED)
    whole = trace(moving, COSTS)
    assert trace(replace(moving, first=whole[1]), COSTS[2:]) == whole[2:]


@pytest.mark.parametrize("cost", [math.nan, math.inf])
def test_a_cost_that_is_no_number_moves_nothing(cost: float) -> None:
    with pytest.raises(ValueError, match="cannot move"):
        rule().moved(Multiplier(1.0), cost)


def test_the_first_lambda_must_lie_between_its_limits() -> None:
    with pytest.raises(ConfigError, match=r"lambda_init: must lie between lambda_min = 0.0001 and lambda_max = 10"):
        decode(SafetyOptions, {"lambda_init": 11})
