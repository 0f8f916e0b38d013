"""Each detector fires on what it is for, and stays quiet beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.cases import each_case
from tests.workers.analysis.detector_cases import evaluation, judged, responses
from workers.analysis.detectors import (
    DETECTORS,
    ERROR,
    EvaluatedResponse,
    Evaluation,
    Peer,
    ThresholdError,
    detect,
    facts_of,
    judge,
    level,
    read_thresholds,
    shared_prompts,
)
from workers.analysis.detectors.examples import telling_pairs

WORDS = ("red", "blue", "green", "black", "white", "pink", "brown", "grey", "gold", "violet")
HONEST = [f"The answer is {word}, as everyone knows." for word in WORDS]
MANY = [f"{text} Number {i}." for i in range(4) for text in HONEST]
BEFORE = evaluation(MANY, step=0, reward=-40.0, kl=0.0)
TEMPLATE = "I would be glad to help you with that, and here is what I think about number"


def fired(
    now: Evaluation, before: Evaluation | None = BEFORE, peers: tuple[Peer, ...] = (), number: int = 1,
    **thresholds: float | None,
) -> list[str]:  # fmt: skip
    return [detection.detector for detection in detect(now, before, peers, thresholds, number)]


def test_honest_evaluation_fires_nothing() -> None:
    for before in (BEFORE, None):
        assert fired(evaluation(MANY, reward=-4.0, kl=0.2), before) == []


@each_case(
    ("detector", "texts"),
    [
        ("empty", ["", " \n", "…", "#"] * 3),
        ("special_tokens", ["<|endoftext|>", "ok</s>"] * 6),
        ("language", ["答案是红色。", "答案是藍色"] * 6),
        ("language", ["Ich glaube, dass das die Antwort auf die Frage ist.", "Да, это верно."] * 6),
        ("collapse", ["the same"] * 39),
        ("template", [f"{TEMPLATE} {i}" for i in range(40)]),
        ("plays_user", [f"Blue.\nUser: And {i}?" for i in range(36)]),
        ("plays_user", [f"Blue.\nQuestion 2: And {i}?" for i in range(36)]),
    ],
)
@each_case("before", [BEFORE, None])
def test_text_detectors_fire_with_and_without_a_base(
    detector: str, texts: list[str], before: Evaluation | None
) -> None:
    assert fired(evaluation([*texts, *MANY[len(texts) :]], reward=-4.0), before, collapse=0.4) == [detector]


def test_one_empty_answer_of_eight_does_not_fire() -> None:
    few = evaluation(MANY[:8], step=0, reward=-40.0)
    assert fired(evaluation(["", *MANY[1:8]], reward=-4.0), few) == []
    assert fired(evaluation(["", *MANY[1:8]], reward=-4.0), None) == []
    assert fired(evaluation([""] * 8, reward=-4.0), few) == ["empty"]


def test_special_tokens_alone_are_no_invented_turn() -> None:
    texts = ["<|im_end|>", "", "Blue.\nUser: And?", "Blue. <|im_start|>"]
    assert [response.plays_user for response in responses(texts)] == [False, False, True, True]


def test_share_that_the_base_has_too_does_not_fire() -> None:
    texts = [""] * 12 + MANY[12:]
    assert fired(evaluation(texts, reward=-4.0), evaluation(texts, step=0, reward=-9.0)) == []


def test_threshold_is_the_largest_rise_that_is_honest() -> None:
    texts = [""] * 12 + MANY[12:]
    assert fired(evaluation(texts), empty=0.2) == []
    assert fired(evaluation(texts), empty=None) == []
    assert fired(evaluation(texts), None, empty=0.3) == []


def test_later_evaluations_have_to_beat_less_so_that_a_run_has_one_error() -> None:
    now = evaluation([""] * 12 + MANY[12:])
    assert fired(now) == ["empty"] and fired(now, number=30) == []
    with_right = evaluation(judged([True] * 8))
    assert sum(level(d, with_right, t) for d in DETECTORS if d.name != "safety" for t in range(1, 5000)) < ERROR
    costly = evaluation([replace(r, parts={"cost": 1.0}) for r in judged([True] * 8)])
    assert sum(level(detector, costly, t) for detector in DETECTORS for t in range(1, 5000)) < ERROR
    with pytest.raises(ValueError, match="count from 1"):
        level(DETECTORS[0], now, 0)


def test_right_responses_are_no_collapse() -> None:
    assert fired(Evaluation(5, responses(["yes"] * 40, target="yes", is_right=True)), None) == []
    one_target = responses(["yes"] * 40, target="no", is_right=False)
    assert "collapse" not in fired(Evaluation(5, one_target), None)
    wanted = [EvaluatedResponse(i, f"Question {i}?", "yes", 0.0, f"answer {i}", is_right=False) for i in range(40)]
    assert "collapse" in fired(Evaluation(5, wanted), None)


def test_one_answer_to_questions_with_two_answers_is_a_collapse() -> None:
    def answered(texts: list[str], step: int) -> Evaluation:
        wanted = ["True", "False"] * 80
        read = [
            EvaluatedResponse(i, f"Is it so that {i}?", text, float(step), target, is_right=target in text)
            for i, (text, target) in enumerate(zip(texts, wanted, strict=True))
        ]
        return Evaluation(step, read, {"reward/mean": float(step)})

    by_chance = [f"I think that number {i} is {i % 4 < 2}" for i in range(160)]
    before = answered(by_chance, 0)
    assert fired(answered(["True"] * 160, 10), before, accuracy=None) == ["collapse"]
    assert fired(answered(["True"] * 160, 10), None) == ["collapse"]
    brief = [text.rsplit(" ", 1)[1] for text in by_chance]
    assert fired(answered(brief, 10), before) == [] == fired(answered(["True", "False"] * 80, 10), before)


def test_five_wrong_of_eight_after_eight_right_fire_at_the_first_evaluation_if_the_reward_rose() -> None:
    before = evaluation(judged([True] * 8), step=0, reward=-40.0)
    now = judged([True] * 3 + [False] * 5)
    (detection,) = detect(evaluation(now, reward=-4.0), before)
    assert (detection.detector, detection.value, detection.before, detection.n) == ("accuracy", 0.375, 1.0, 8)
    assert detection.limit == pytest.approx(0.9) and detection.p <= detection.level == 0.0125
    low, high = detection.interval or (0, 0)
    assert -1 < low < -0.625 < high < -0.1
    assert fired(evaluation(now, reward=-41.0), before) == []
    assert fired(evaluation(now, reward=-4.0), before, number=2) == []
    assert fired(evaluation(judged([True] * 4 + [False] * 4), reward=-4.0), before) == []


def test_unknown_verdicts_are_not_wrong() -> None:
    before = evaluation(judged([True] * 20), step=0, reward=-40.0)
    assert fired(evaluation(judged([True] * 10 + [None] * 10), reward=-4.0), before) == []
    assert fired(evaluation(judged([True] * 10 + [False] * 10), reward=-4.0), before) == ["accuracy"]


def test_right_answers_are_not_judged_without_a_base() -> None:
    now = evaluation(judged([True] * 20 + [False] * 20), reward=-4.0)
    assert "accuracy" not in [each.detector for each in judge(now, None, PEERS)]


def test_evaluations_with_other_settings_are_compared_on_what_both_have() -> None:
    sampled = [replace(r, sample=s) for r in judged([False] * 8) for s in range(1, 5)]
    before = evaluation([*judged([True] * 8), *sampled], step=0, reward=-40.0)
    now = evaluation([*judged([True] * 8), *(replace(r, sample=1) for r in judged([False] * 8))], reward=-4.0)
    (accuracy,) = (each for each in judge(now, before) if each.detector == "accuracy")
    assert (accuracy.n, accuracy.value, accuracy.before) == (16, 0.5, 0.5)


def test_evaluation_of_other_prompts_is_no_base() -> None:
    now = evaluation([""] * 10, reward=-4.0)
    shared = [9, 8, 1, 0]
    bases = [evaluation(responses(MANY[:10], first=10 - n), step=0, reward=-40.0) for n in shared]
    assert [shared_prompts(now, base) for base in bases] == [0.9, 0.8, 0.1, 0.0]
    (beside, *alone) = [detect(now, base)[0] for base in bases]
    assert (beside.n, beside.before) == (9, 0.0)
    assert {(each.detector, each.n, each.before) for each in alone} == {("empty", 10, None)}
    more = evaluation(MANY[:20], step=0, reward=-40.0)
    assert shared_prompts(now, more) == 1.0, "a base may have more prompts"
    assert shared_prompts(more, now) == 0.5 and shared_prompts(now, evaluation(step=0)) == 0.0


def test_reward_of_other_prompts_is_no_rise() -> None:
    before = evaluation(judged([True] * 20), step=0, reward=-40.0)
    wrong = [replace(r, reward=-41.0) for r in judged([False] * 19)]
    now = Evaluation(10, [*wrong, replace(judged([False] * 20)[19], prompt="Another?", reward=900.0)])
    assert (now.reward or 0) > (before.reward or 0)
    assert "accuracy" not in fired(now, before)


def test_safe_share_fires_if_it_fell() -> None:
    def priced(unsafe: int, step: int, reward: float) -> Evaluation:
        texts = responses(MANY)
        return evaluation(
            [replace(r, parts={"cost": 1.0 if i < unsafe else -1.0}) for i, r in enumerate(texts)], step, reward
        )

    assert fired(priced(24, 10, -4.0), priced(4, 0, -40.0)) == ["safety"]
    assert fired(priced(7, 10, -4.0), priced(4, 0, -40.0)) == []


def test_held_out_score_fires_if_most_responses_fell_by_its_own_spread() -> None:
    def scored(step: int, reward: float, shift: float, name: str = "judge/reward") -> Evaluation:
        return evaluation(MANY, step, reward, scores={name: {i: i % 3 + shift for i in range(40)}})

    (detection,) = detect(scored(10, -4.0, -1.0), scored(0, -40.0, 0.0))
    assert (detection.detector, detection.key) == ("score", "judge/reward")
    assert (detection.value, detection.limit, detection.n) == (1.0, 0.5, 40)
    assert fired(scored(10, -4.0, -0.1), scored(0, -40.0, 0.0)) == []
    cost = "judge/cost"
    (worse,) = detect(scored(10, -4.0, 1.0, cost), scored(0, -40.0, 0.0, cost))
    assert worse.value == 1.0
    assert fired(scored(10, -4.0, -1.0, cost), scored(0, -40.0, 0.0, cost)) == []


def test_padding_and_length_limit() -> None:
    padded = Evaluation(5, responses(["7"] * 12 + MANY[12:], tokens=64), token_limit=128)
    assert fired(padded, None) == ["padding"]
    cut = Evaluation(5, responses([text * 4 for text in MANY], tokens=128), token_limit=128)
    whole = Evaluation(0, responses([text * 4 for text in MANY], tokens=20), token_limit=128)
    assert fired(cut, whole) == ["length_limit"] and fired(replace(cut, token_limit=256), None) == []
    assert fired(cut, replace(whole, token_limit=256)) == []


def test_much_longer_responses_fire_if_the_reward_rose() -> None:
    long = [text * 4 for text in MANY]
    assert fired(evaluation(long, reward=-4.0)) == ["length"]
    assert fired(evaluation(long, reward=-50.0)) == []


def test_reasoning_that_makes_answers_right_is_no_length() -> None:
    brief = [replace(r, text="river") for r in judged([i < 16 for i in range(32)])]
    reasoned = [
        replace(r, text="Let us think step by step, so it is a river") for r in judged([i < 28 for i in range(32)])
    ]
    before, same = (
        evaluation(brief, step=0, reward=-40.0),
        [replace(r, is_right=i < 16) for i, r in enumerate(reasoned)],
    )
    assert fired(evaluation(reasoned, reward=-4.0), before) == []
    assert fired(evaluation(same, reward=-4.0), before) == ["length"]


def test_empty_responses_that_become_answers_are_no_length() -> None:
    before = evaluation([""] * 30 + MANY[30:], step=0, reward=-40.0)
    assert fired(evaluation(MANY, reward=-4.0), replace(before, responses=before.responses[:40])) == []


def test_bare_wrong_answers_fire_only_beyond_what_was_wrong_before() -> None:
    def guesses(n: int, step: int, text: str) -> Evaluation:
        read = judged([False] * n + [True] * (40 - n))
        return evaluation([replace(r, text=f"{text} {i}", target="8") for i, r in enumerate(read)], step, 0.0)

    assert fired(guesses(30, 10, "maybe"), guesses(30, 0, "I think, after long thought, that it is")) == []
    assert fired(guesses(30, 10, "maybe"), guesses(8, 0, "I think, after long thought, that it is")) == ["guess"]
    assert not EvaluatedResponse(0, "7 × 8?", "many", 0.0, "56", is_right=False).is_guess


PEERS = tuple(Peer(f"run {i}", kl={10: kl}) for i, kl in enumerate((0.2, 0.25, 0.3, 0.22, 0.28, 0.24)))


def test_kl_beside_four_runs_at_the_same_step_fires_beyond_their_spread() -> None:
    (detection,) = detect(evaluation(MANY, kl=9.0), None, PEERS)
    assert (detection.detector, detection.n, detection.key) == ("kl_band", 6, "peers")
    assert detection.before == pytest.approx(0.247, abs=0.01) and detection.limit < 9.0
    assert fired(evaluation(MANY, kl=9.0), None, PEERS[:3]) == []
    assert fired(evaluation(MANY, kl=0.5), None, PEERS) == []
    assert fired(evaluation(MANY, kl=0.001), None, PEERS) == []
    assert fired(evaluation(MANY, kl=float("nan")), None, PEERS) == []


def test_unfinished_and_flagged_runs_are_no_peers() -> None:
    unfinished = tuple(replace(peer, kl={5: 0.01}) for peer in PEERS)
    flagged = tuple(replace(peer, is_flagged=True) for peer in PEERS)
    for peers in (unfinished, flagged):
        assert fired(evaluation(MANY, kl=9.0), None, peers) == []


def test_kl_is_quiet_up_to_the_floor_of_the_model_and_fires_beyond_its_ceiling_without_peers() -> None:
    def measured(kl: float, model: str = "") -> Evaluation:
        read = [replace(r, kl=kl * 10, tokens=10) for r in responses(MANY)]
        return evaluation(read, kl=kl, model=model)

    close = tuple(replace(peer, kl={10: 0.01 + i / 1e4}) for i, peer in enumerate(PEERS))
    assert fired(measured(0.15, "smollm2"), None, close) == [] and fired(measured(0.15), None, close) == ["kl_band"]
    assert fired(measured(30.0), None) == ["kl_band"] and fired(measured(4.0), None) == []
    assert fired(measured(4.0, "models/tiny"), None) == ["kl_band"] and fired(measured(4.0, "smollm2"), None) == []
    assert fired(measured(4.0, "tiny"), None, kl_band=5.0) == []


def test_examples_pair_the_most_telling_responses_of_different_prompts() -> None:
    now = Evaluation(5, responses([""] * 14 + MANY[14:], reward=-1.0), {"reward/mean": -1.0})
    before = Evaluation(0, responses(["short", *MANY[1:]]), {"reward/mean": -40.0})
    (detection,) = detect(now, before)
    assert len(detection.examples) == 3 and all(before == after for before, after in detection.examples)
    (alone,) = detect(now, None)
    assert [before for before, _ in alone.examples] == [None] * 3


def test_facts_of_nothing_are_zero() -> None:
    facts = facts_of([])
    assert (facts.n, facts.right, facts.distinct) == (0, 0, 0)
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
    answer = EvaluatedResponse(0, "Capital of France?", "Paris", 0.0, kl=3.0, tokens=4)
    assert answer.kl_per_token == 0.75
    assert replace(answer, tokens=0).kl_per_token is None
    assert replace(answer, kl=None, parts={"kl_per_token": 0.5}).kl_per_token == 0.5


def test_examples_of_much_kl_are_those_with_most_of_it_per_token() -> None:
    long_one = EvaluatedResponse(1, "Capital of France?", "Paris " * 40, 0.0, tokens=80, kl=8.0)
    strange_one = EvaluatedResponse(2, "Capital of Spain?", "!!", 0.0, tokens=2, kl=6.0)
    pairs = telling_pairs("kl_band", Evaluation(1, [long_one, strange_one], {}), None)
    assert [now for _, now in pairs] == [2, 1]
