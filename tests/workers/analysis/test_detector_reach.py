"""What detectors can state of few responses and late evaluations."""

from __future__ import annotations

from tests.cases import each_case
from tests.workers.analysis.detector_cases import evaluation, judged, responses
from workers.analysis.detectors import DETECTORS, DETECTORS_BY_NAME, MAX_NUMBER, can_fire, detect, last_number
from workers.analysis.detectors.reach import smallest_fall_p_value, smallest_rise_p_value
from workers.analysis.exact_tests import fall_p_value, rise_p_value

HONEST = [f"The river number {i} is the one." for i in range(16)]


@each_case("samples", [(8, 8), (5, 20), (20, 5)])
@each_case("margin", [0.0, 0.05, 0.3, 0.9])
def test_smallest_p_value_is_that_of_the_clearest_table(samples: tuple[int, int], margin: float) -> None:
    n, m = samples
    assert abs(smallest_rise_p_value(n, m, margin) / rise_p_value(n, n, 0, m, margin) - 1) < 1e-6
    assert abs(smallest_fall_p_value(n, m, margin) / fall_p_value(0, n, m, m, margin) - 1) < 1e-6


def test_last_number_is_the_last_evaluation_at_which_all_bad_responses_fire() -> None:
    before, now = evaluation(HONEST[:8], step=0, reward=-9.0), evaluation([""] * 8, reward=-4.0)
    for base in (before, None):
        last = last_number(DETECTORS_BY_NAME["empty"], 8, 8 if base else 0)
        assert [d.detector for d in detect(now, base, number=last)] == ["empty"]
        assert detect(now, base, number=last + 1) == []
    right, wrong = evaluation(judged([True] * 8), 0, -9.0), evaluation(judged([False] * 8))
    last = last_number(DETECTORS_BY_NAME["accuracy"], 8, 8)
    assert detect(wrong, right, number=last) and not detect(wrong, right, number=last + 1)
    same = evaluation(["the same"] * 16)
    last = last_number(DETECTORS_BY_NAME["collapse"], 16, 0)
    assert detect(same, None, number=last) and not detect(same, None, number=last + 1)


def test_few_responses_leave_few_detectors() -> None:
    assert last_number(DETECTORS_BY_NAME["accuracy"], 8, 0) == 0 == last_number(DETECTORS_BY_NAME["empty"], 0, 0)
    assert [d.name for d in can_fire(8, 8, 1)][:2] == ["accuracy", "safety"]
    assert "collapse" not in {d.name for d in can_fire(8, 8, 1)}
    assert "empty" not in {d.name for d in can_fire(8, 8, 1, {"empty": None})}
    assert can_fire(160, 160, 50) == list(DETECTORS) and can_fire(8, 8, 100) == []
    assert last_number(DETECTORS_BY_NAME["empty"], 5000, 5000) == MAX_NUMBER
    assert not detect(evaluation(responses([""] * 8), reward=-4.0), None, number=9000)
