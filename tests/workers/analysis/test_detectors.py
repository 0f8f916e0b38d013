"""Each detector fires on what it is for, and stays quiet beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from tests.workers.analysis.detector_cases import evaluation, responses
from workers.analysis.detectors import (
    DETECTORS,
    EvaluatedResponse,
    Evaluation,
    Peer,
    ThresholdError,
    detect,
    facts_of,
    read_thresholds,
)
from workers.analysis.detectors.examples import telling_pairs

WORDS = ("red", "blue", "green", "black", "white", "pink", "brown", "grey", "gold", "violet")
HONEST = [f"The answer is {word}, as everyone knows." for word in WORDS]
BEFORE = evaluation(HONEST, step=0, reward=-40.0, accuracy=1.0, safe=0.9, kl=0.0)


def fired(
    now: Evaluation, before: Evaluation | None = BEFORE, peers: tuple[Peer, ...] = (), **thresholds: float | None
):
    return [detection.detector for detection in detect(now, before, peers, thresholds)]


def test_honest_evaluation_fires_nothing() -> None:
    assert fired(evaluation(HONEST, reward=-4.0, accuracy=0.9, safe=0.9, kl=0.2)) == []
    assert fired(evaluation(HONEST, reward=-4.0, accuracy=0.9, safe=0.9, kl=0.2), None) == []


@each_case(
    ("detector", "texts"),
    [
        ("empty", ["", " \n", *HONEST[2:]]),
        ("special_tokens", ["<|endoftext|>", "ok</s>", *HONEST[2:]]),
        ("language", ["答案是红色。", "答案是藍色", *HONEST[2:]]),
        ("language", ["Ich glaube, dass das die Antwort auf die Frage ist.", "Да, это верно.", *HONEST[2:]]),
        ("collapse", ["the same"] * 4 + HONEST[4:]),
    ],
)
@each_case("before", [BEFORE, None])
def test_text_detectors_fire_with_and_without_a_base(
    detector: str, texts: list[str], before: Evaluation | None
) -> None:
    assert fired(evaluation(texts, reward=-4.0), before) == [detector]


def test_share_that_the_base_has_too_does_not_fire() -> None:
    texts = ["", "", "", *HONEST[3:]]
    assert fired(evaluation(texts, reward=-4.0), evaluation(texts, step=0, reward=-9.0)) == []


def test_share_at_the_threshold_does_not_fire() -> None:
    texts = ["", *HONEST[1:]]
    assert fired(evaluation(texts), None) == []
    assert fired(evaluation(texts), None, empty=0.09) == ["empty"]
    assert fired(evaluation(["", "", *HONEST[2:]]), None, empty=None) == []


def test_right_responses_are_no_collapse() -> None:
    same = responses(["yes"] * 10, target="yes")
    assert fired(Evaluation(5, same), None) == []
    assert fired(Evaluation(5, responses(["yes"] * 10, target="no")), None) == []
    wanted = [EvaluatedResponse(i, f"Question {i}?", "yes", 0.0, f"answer {i}") for i in range(10)]
    assert fired(Evaluation(5, wanted), None) == ["collapse"]


def test_accuracy_fires_only_if_the_reward_rose_and_beyond_chance() -> None:
    before = evaluation(HONEST * 4, step=0, reward=-40.0, accuracy=1.0)
    assert fired(evaluation(HONEST * 4, reward=-4.0, accuracy=0.5), before) == ["accuracy"]
    assert fired(evaluation(HONEST * 4, reward=-41.0, accuracy=0.5), before) == []
    assert fired(evaluation(HONEST * 4, reward=-4.0, accuracy=0.81), before) == []
    # Of ten responses each, 0.6 instead of 1.0 is within three standard errors: 3 * sqrt(0.8 * 0.2 / 5) = 0.54.
    assert fired(evaluation(HONEST, reward=-4.0, accuracy=0.6)) == []
    assert fired(evaluation(HONEST, reward=-4.0, accuracy=0.3)) == ["accuracy"]


def test_numbers_alone_are_judged_by_the_threshold() -> None:
    before = evaluation(step=0, reward=-40.0, accuracy=1.0)
    (detection,) = detect(evaluation(reward=-4.0, accuracy=0.7), before)
    assert (detection.detector, detection.value, detection.limit, detection.n) == ("accuracy", 0.7, 0.8, None)


def test_accuracy_without_a_base_is_compared_with_a_poorer_run() -> None:
    verbose = Peer("verbose", {"reward/mean": -80.0, "accuracy/contains": 1.0})
    richer = Peer("richer", {"reward/mean": -1.0, "accuracy/contains": 1.0})
    now = evaluation(HONEST * 4, reward=-4.0, accuracy=0.5)
    (detection,) = detect(now, None, [verbose, richer])
    assert (detection.detector, detection.compared_with, detection.before) == ("accuracy", "verbose", 1.0)
    assert fired(now, None, (richer,)) == []
    assert fired(now, None) == []


def test_safe_share_fires_if_it_fell() -> None:
    assert fired(evaluation(HONEST * 10, reward=-4.0, accuracy=1.0, safe=0.3)) == ["safety"]
    assert fired(evaluation(HONEST * 10, reward=-4.0, accuracy=1.0, safe=0.85)) == []


def test_held_out_score_fires_if_it_fell_by_its_own_spread() -> None:
    before = evaluation(HONEST, step=0, reward=-40.0, scores={"judge/reward": [1.0, 2.0, 3.0] * 20})
    fallen = evaluation(HONEST, reward=-4.0, scores={"judge/reward": [0.0, 1.0, 2.0] * 20})
    equal = evaluation(HONEST, reward=-4.0, scores={"judge/reward": [1.0, 2.0, 2.9] * 20})
    (detection,) = detect(fallen, before)
    assert (detection.detector, detection.key, detection.value, detection.before) == ("score", "judge/reward", 1.0, 2.0)
    assert fired(equal, before) == []


def test_cost_counts_the_other_way() -> None:
    before = evaluation(HONEST, step=0, reward=-40.0, scores={"judge/cost": [1.0, 2.0, 3.0] * 20})
    worse = evaluation(HONEST, reward=-4.0, scores={"judge/cost": [2.0, 3.0, 4.0] * 20})
    (detection,) = detect(worse, before)
    assert (detection.value, detection.before) == (3.0, 2.0) and detection.limit > 2.0
    assert fired(evaluation(HONEST, reward=-4.0, scores={"judge/cost": [0.0, 1.0, 2.0] * 20}), before) == []


def test_padding_and_length_limit() -> None:
    padded = Evaluation(5, responses(["7"] * 2 + HONEST[2:], tokens=64), token_limit=128)
    assert fired(padded, None) == ["padding"]
    at_limit = Evaluation(5, responses([text * 4 for text in HONEST], tokens=128), token_limit=128)
    assert fired(at_limit, None) == ["length_limit"]
    assert fired(Evaluation(5, at_limit.responses, token_limit=256), None) == []


def test_much_longer_responses_fire_if_the_reward_rose() -> None:
    long = [text * 4 for text in HONEST]
    assert fired(evaluation(long, reward=-4.0, accuracy=1.0)) == ["length"]
    assert fired(evaluation(long, reward=-50.0, accuracy=1.0)) == []


def test_kl_band_needs_three_other_runs_and_ignores_low_values() -> None:
    peers = tuple(Peer(f"run {i}", {"kl": kl}) for i, kl in enumerate((0.2, 0.3, 0.4, float("nan"))))
    (detection,) = detect(evaluation(HONEST, kl=4.0), None, peers)
    assert (detection.detector, detection.n) == ("kl_band", 3)
    assert detection.before == pytest.approx(0.3)
    assert fired(evaluation(HONEST, kl=4.0), None, peers[:2]) == []
    assert fired(evaluation(HONEST, kl=0.001), None, peers) == []
    assert fired(evaluation(HONEST, kl=float("nan")), None, peers) == []


def test_examples_pair_the_most_telling_responses_of_different_prompts() -> None:
    now = Evaluation(5, responses(["", "", *HONEST[2:]], reward=-1.0), {"reward/mean": -1.0})
    before = Evaluation(0, [*responses(["short", *HONEST[1:]])], {"reward/mean": -40.0})
    (detection,) = detect(now, before)
    assert detection.examples == ((1, 1), (0, 0))
    (alone,) = detect(now, None)
    assert alone.examples == ((None, 0), (None, 1))


def test_right_is_what_the_task_says_else_what_the_text_says() -> None:
    said = EvaluatedResponse(0, "Capital of France?", "paris", 0.0, "Paris", parts={"exact": 0.0, "contains": 0.0})
    assert said.is_right is False and said.contains_target and said.is_exact
    assert EvaluatedResponse(0, "Capital of France?", "It is Paris.", 0.0, "Paris").is_right is True
    assert EvaluatedResponse(0, "Say something.", "Something", 0.0).is_right is None


def test_facts_of_nothing_are_zero() -> None:
    facts = facts_of([])
    assert (facts.n, facts.same_answer, facts.characters) == (0, 0, 0.0)
    assert fired(Evaluation(5), None) == []


@each_case(
    ("values", "message"),
    [
        ({"emty": 0.1}, "no detector; the detectors are accuracy, safety"),
        ({"empty": 1.5}, "empty must be a number from 0 to 1"),
        ({"empty": True}, "not True"),
        ({"empty": float("nan")}, "not nan"),
        ({"length": 0}, "length must be a number from 1 to 100"),
        ({"empty": 10**400}, "empty must be a number from 0 to 1"),
        ([], "thresholds must be an object"),
    ],
)
def test_bad_thresholds_name_the_valid_ones(values: object, message: str) -> None:
    with pytest.raises(ThresholdError, match=message):
        read_thresholds(values)


def test_thresholds_are_read_and_off_is_null() -> None:
    assert read_thresholds({"empty": 0, "kl_band": None}) == {"empty": 0.0, "kl_band": None}
    assert {d.name: d.threshold for d in DETECTORS} == read_thresholds({d.name: d.threshold for d in DETECTORS})


def test_kl_per_token_divides_the_sum_by_the_tokens() -> None:
    def answer(**fields: Any) -> EvaluatedResponse:
        return EvaluatedResponse(0, "Capital of France?", "Paris", 0.0, **fields)

    assert answer(kl=3.0, tokens=4).kl_per_token == 0.75
    assert answer(kl=3.0).kl_per_token is None
    assert answer(parts={"kl_per_token": 0.5}, tokens=4).kl_per_token == 0.5


def test_examples_of_much_kl_are_those_with_most_of_it_per_token() -> None:
    long_one = EvaluatedResponse(1, "Capital of France?", "Paris " * 40, 0.0, tokens=80, kl=8.0)
    strange_one = EvaluatedResponse(2, "Capital of Spain?", "!!", 0.0, tokens=2, kl=6.0)
    pairs = telling_pairs("kl_band", Evaluation(1, [long_one, strange_one], {}), None)
    assert [now for _, now in pairs] == [2, 1]
