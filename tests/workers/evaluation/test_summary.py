"""The numbers of an evaluation, computed by hand on four answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workers.evaluation import Answer, TokenKl, summarise
from workers.models.decoder import Completion
from workers.tasks import Example, Score

RED = Example("red", ({"role": "user", "content": "What is the colour of blood?"},), "red")
TWO = Example("two", ({"role": "user", "content": "How many feet have you?"},), "two")


def answer(
    example: Example, sample: int, text: str, reward: float, kl: list[float], *, clipped: bool = False, **parts: float
) -> Answer:
    completion = Completion(tokens=list(range(len(kl))), text=text, clipped=clipped)
    values = np.array(kl)
    token_kl = TokenKl(exact=values, k1=3 * values, k2=4 * values, k3=2 * values, entropy=5 * values)
    return Answer(example, sample, completion, Score(reward, parts), token_kl)


GREEDY = [
    answer(RED, 0, "red", 0.0, [0.9, 0.9], exact=1.0, contains=1.0),
    answer(TWO, 0, "  ", -4.0, [0.9] * 4, clipped=True, exact=0.0, contains=0.0),
]
SAMPLED = [
    answer(RED, 1, "it is red", -6.0, [0.1, 0.3], exact=0.0, contains=1.0),
    answer(TWO, 1, "three", -2.0, [0.5, 0.3, 0.0, 0.0], exact=0.0, contains=0.0),
]


def test_reward_accuracy_and_length_use_greedy_answers() -> None:
    values = summarise(GREEDY + SAMPLED)

    assert {k: values[k] for k in values if not k.startswith(("kl", "sample/"))} == {
        "reward/mean": -2.0,
        "reward/std": 2.0,
        "reward/min": -4.0,
        "reward/max": 0.0,
        "accuracy/exact": 0.5,
        "accuracy/contains": 0.5,
        "response/tokens_mean": 3.0,
        "response/characters_mean": 1.5,
        "response/clipped_ratio": 0.5,
        "response/empty_ratio": 0.5,
        "response/other_language_ratio": 0.0,
    }


def test_kl_uses_sampled_answers() -> None:
    values = summarise(GREEDY + SAMPLED)

    assert {k for k in values if k.startswith(("kl", "sample/"))} == {
        "sample/reward/mean", "sample/accuracy/contains",
        "kl", "kl/se", "kl/sequence", "kl/sequence_se",
        "kl/k3", "kl/k3_se", "kl/k3_sequence", "kl/k3_sequence_se",
    }  # fmt: skip
    assert values["sample/reward/mean"] == -4.0
    assert values["sample/accuracy/contains"] == 0.5
    # Totals 0.4 over 2 tokens and 0.8 over 4: 1.2 / 6 a token, 0.6 a sequence with s.e. 0.2828 / √2.
    assert values["kl"] == pytest.approx(0.2)
    assert values["kl/sequence"] == pytest.approx(0.6)
    assert values["kl/sequence_se"] == pytest.approx(0.2)
    assert values["kl/k3"] == pytest.approx(0.4)
    assert values["kl/k3_sequence"] == pytest.approx(1.2)
    assert values["kl/k3_sequence_se"] == pytest.approx(0.4)


def test_standard_errors_are_clustered_by_prompt() -> None:
    """Twice as many samples that are all like the first of their prompt tell nothing new about other prompts."""
    once = [answer(RED, 1, "a", 0.0, [0.1, 0.1]), answer(TWO, 1, "b", 0.0, [0.3, 0.3])]
    again = [answer(RED, 2, "a", 0.0, [0.1, 0.1]), answer(TWO, 2, "b", 0.0, [0.3, 0.3])]
    first, both = summarise([*GREEDY, *once]), summarise([*GREEDY, *once, *again])
    names = ("kl/se", "kl/sequence_se", "kl/k3_se")
    assert [first[name] for name in names] == pytest.approx([both[name] for name in names])
    assert both["kl/sequence_se"] == pytest.approx(0.2)


def test_the_error_per_token_is_that_of_a_ratio() -> None:
    """Both sequences have 0.2 a token, so the mean per token would be the same in any draw of such sequences."""
    assert summarise(GREEDY + SAMPLED)["kl/se"] == pytest.approx(0.0, abs=1e-12)

    unequal = [*GREEDY, answer(RED, 1, "a", 0.0, [0.1, 0.1]), answer(TWO, 1, "b", 0.0, [0.3, 0.3])]
    # Residuals 0.2 − 0.4 and 0.6 − 0.4: √(2/1 · (0.04 + 0.04)) / 4.
    assert summarise(unequal)["kl/se"] == pytest.approx(0.1)


def test_single_sequence_has_no_standard_error() -> None:
    values = summarise([GREEDY[0], SAMPLED[0]])

    assert values["kl"] == pytest.approx(0.2)
    assert math.isnan(values["kl/se"])
    assert math.isnan(values["kl/sequence_se"])


def test_a_task_without_right_answers_has_no_accuracy() -> None:
    values = summarise([answer(RED, 0, "red", 1.0, [0.1]), answer(RED, 1, "red", 1.0, [0.1])])

    assert not [key for key in values if "accuracy" in key]


def test_without_samples_there_is_no_kl() -> None:
    assert not [key for key in summarise(GREEDY) if key.startswith(("kl", "sample"))]


def test_task_parts_are_averaged_over_answers_that_have_them() -> None:
    first = answer(RED, 0, "red", 1.0, [0.1], format=1.0, rhymes=0.5, characters=3.0)
    second = answer(TWO, 0, "two", 1.0, [0.1], format=0.0, characters=3.0)

    values = summarise([first, second])

    assert (values["reward/format/mean"], values["reward/rhymes/mean"]) == (0.5, 0.5)
    assert "reward/characters/mean" not in values
