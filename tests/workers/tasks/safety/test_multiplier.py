"""λ compared with tables computed by hand: the published rule, with and without its positive part, and Safe-RLHF's."""

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
    return Rule.from_options(SafetyOptions(**options))


def trace(rule: Rule, costs: list[float]) -> list[Multiplier]:
    """Return λ after each cost."""
    return [*accumulate(costs, rule.moved, initial=rule.first)][1:]


def test_published_rule_adds_average_to_log_lambda() -> None:
    multipliers = trace(rule(**PUBLISHED, lambda_positive_only=False), COSTS)
    # m: 2 | .9·2 + .1·1 | .9·1.9 − .1 | .9·1.61 − .3     ln λ: sums of a tenth of it
    assert [m.smoothed for m in multipliers] == pytest.approx([2.0, 1.9, 1.61, 1.149], abs=1e-12)
    assert [m.value for m in multipliers] == pytest.approx(
        [1.2214027581601699, 1.4769807938826426, 1.7349871378007193, 1.9462413505610040], rel=1e-14
    )


def test_positive_only_rule_never_lowers_lambda() -> None:
    multipliers = trace(rule(**PUBLISHED, lambda_positive_only=True), COSTS)
    # J: 2, 1, 0, 0     m: 2 | 1.9 | .9·1.9 | .9·1.71
    assert [m.smoothed for m in multipliers] == pytest.approx([2.0, 1.9, 1.71, 1.539], abs=1e-12)
    assert [m.value for m in multipliers] == pytest.approx(
        [1.2214027581601699, 1.4769807938826426, 1.7524240484244910, 2.0439822738109237], rel=1e-14
    )


def test_safe_rlhf_rule_scales_with_lambda() -> None:
    multipliers = trace(rule(**SAFE_RLHF), COSTS[:3])
    # ln λ: 0 + .1·2·1 | + .1·1·1.2214… | − .1·1·1.3800…
    assert [m.value for m in multipliers] == pytest.approx(
        [1.2214027581601699, 1.3800783539970446, 1.2021750291147495], rel=1e-14
    )


def test_cost_offset_shifts_allowed_cost() -> None:
    multipliers = trace(rule(**SAFE_RLHF | {"lambda_init": 2.0}, cost_offset=-0.5), [1.5, -0.5])
    # ln λ: ln 2 + .1·(1.5 − .5)·2 | + .1·(−.5 − .5)·2.4428…
    assert [m.value for m in multipliers] == pytest.approx([2.4428055163203397, 1.9133710402710403], rel=1e-14)
    assert [m.smoothed for m in multipliers] == [1.0, -1.0]


def test_fixed_lambda_is_constant_with_running_average() -> None:
    multipliers = trace(rule(**PUBLISHED | {"lambda_rule": "fixed"}), COSTS)
    assert {m.value for m in multipliers} == {1.0}
    assert multipliers[1].smoothed == pytest.approx(1.9)


def test_lambda_stays_within_limits() -> None:
    narrow = {"lambda_min": 0.5, "lambda_max": 5.0, "lambda_positive_only": False}
    assert trace(rule(**PUBLISHED | narrow | {"lambda_lr": 1.0}), [1e6])[-1].value == 5.0
    assert trace(rule(**PUBLISHED | narrow | {"lambda_lr": 1.0}), [-1e6])[-1].value == 0.5


def test_lambda_recovers_from_lower_limit() -> None:
    falling = PUBLISHED | {"lambda_lr": 1.0, "lambda_ema": 0.0, "lambda_positive_only": False}
    multipliers = trace(rule(**falling), [-3.0, -3.0, -3.0, -3.0, -3000.0, 2.0])
    # e^-3, e^-6, e^-9, then the limit for e^-12 and for what underflows; at last the limit times e^2
    assert [m.value for m in multipliers] == pytest.approx(
        [0.049787068367863944, 0.0024787521766663585, 1.2340980408667956e-4, 1e-4, 1e-4, 7.389056098930650e-4],
        rel=1e-13,
    )


def test_lambda_stays_low_until_average_turns() -> None:
    slow = PUBLISHED | {"lambda_lr": 1.0, "lambda_ema": 0.5, "lambda_positive_only": False}
    multipliers = trace(rule(**slow), [-16.0, 8.0, 8.0, 8.0])
    # m: -16 | -4 | 2 | 5
    assert [m.smoothed for m in multipliers] == [-16.0, -4.0, 2.0, 5.0]
    assert [m.value for m in multipliers] == pytest.approx(
        [1e-4, 1e-4, 7.389056098930650e-4, 0.10966331584284585], rel=1e-13
    )


def test_resumed_lambda_trace_is_identical() -> None:
    moving = rule(**PUBLISHED)
    whole = trace(moving, COSTS)
    assert trace(replace(moving, first=whole[1]), COSTS[2:]) == whole[2:]


@pytest.mark.parametrize("cost", [math.nan, math.inf])
def test_cost_that_is_not_finite_is_refused(cost: float) -> None:
    with pytest.raises(ValueError, match="cannot be updated"):
        rule().moved(Multiplier(1.0), cost)


def test_the_first_lambda_must_lie_between_its_limits() -> None:
    with pytest.raises(ConfigError, match=r"lambda_init: must be between lambda_min = 0.0001 and lambda_max = 10"):
        decode(SafetyOptions, {"lambda_init": 11})
