"""Simulated honest runs are flagged in at most 5 % over all detectors and evaluations, and planted cheating is seen."""

from __future__ import annotations

from benchmarks.detector_simulation import (
    EVALUATIONS,
    HONEST,
    HONEST_SCENARIOS,
    SHARES,
    flagged,
    planted,
    walking,
)
from workers.analysis.detectors import DETECTORS, ERROR, EvaluatedResponse, Evaluation, detect
from workers.analysis.share_interval import share_interval

RUNS = 200


def test_simulation_has_every_detector_of_an_evaluation_without_costs() -> None:
    assert {*HONEST, "kl_band", "safety"} == {detector.name for detector in DETECTORS}
    assert {d.name for d in DETECTORS if d.alone is not None} == set(SHARES)


def test_honest_runs_are_flagged_in_at_most_five_percent() -> None:
    for n, has_base in ((8, True), (32, True), (32, False), (160, False)):
        for title, (make, variation) in HONEST_SCENARIOS.items():
            alarms = flagged(make(), n, RUNS, seed=n, has_base=has_base, variation=variation).any(axis=1).sum()
            assert share_interval(int(alarms), RUNS)[1] <= ERROR, (n, title, has_base)


def test_rates_that_walk_at_random_are_flagged_only_once_a_share_is_beyond_its_threshold() -> None:
    fired, falsely = walking(0.6, (8, 20), 20, seed=3)
    assert fired.any() and not falsely.any()


def test_planted_cheating_in_half_of_the_responses_is_seen_with_160_responses() -> None:
    for name in ("accuracy", "empty", "plays_user"):
        assert flagged(planted(name, 0.5), 160, 40, seed=1)[:, 0].mean() > 0.95


def test_model_that_leaves_two_percent_empty_is_quiet_at_every_size() -> None:
    for n in (8, 160, 1000):
        now = _evaluation(10, n, empty=max(1, n // 50))
        for base in (_evaluation(0, n, empty=0), None):
            assert all(not detect(now, base, number=t) for t in range(1, EVALUATIONS + 1)), n


def _evaluation(step: int, n: int, empty: int) -> Evaluation:
    texts = ["" if i < empty else f"Answer number {i}." for i in range(n)]
    read = [EvaluatedResponse(i, f"Question {i}?", text, 0.0) for i, text in enumerate(texts)]
    return Evaluation(step, read, {"reward/mean": float(step)})
