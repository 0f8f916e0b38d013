"""Self-BLEU by hand, and against its definition written out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from workers.analysis.self_bleu import self_bleu


def bleu(words: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return smoothed BLEU-4 as its authors define it (Papineni et al. 2002; Lin and Och 2004)."""
    logs = []
    for order in range(1, min(4, len(words)) + 1):
        own = Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))
        counts = [Counter(tuple(r[i : i + order]) for i in range(len(r) - order + 1)) for r in references]
        matches = sum(min(n, max(c[gram] for c in counts)) for gram, n in own.items())
        smoothing = order > 1
        precision = (matches + smoothing) / (sum(own.values()) + smoothing)
        if precision == 0:
            return 0.0
        logs.append(math.log(precision))
    closest = min((len(r) for r in references), key=lambda length: (abs(length - len(words)), length))
    penalty = 1.0 if len(words) >= closest else math.exp(1 - closest / len(words))
    return penalty * math.exp(sum(logs) / len(logs))


def test_equal_texts_have_1_and_texts_without_a_common_word_0() -> None:
    assert self_bleu(["the cat sat on the mat"] * 3) == pytest.approx(1.0)
    assert self_bleu(["a b c d", "e f g h", "i j k l"]) == 0.0


def test_two_texts_by_hand() -> None:
    """`a b` against `a c`: 1-grams 1/2, 2-grams (0+1)/(1+1), so √(1/2 · 1/2) each."""
    assert self_bleu(["a b", "a c"]) == pytest.approx(0.5)


def test_a_shorter_text_is_penalised() -> None:
    """`a` against `a b c`: precision 1, penalty exp(1 − 3); back: 1-grams 1/3, 2-grams 1/3, 3-grams 1/2."""
    by_hand = (math.exp(-2) + (1 / 3 * 1 / 3 * 1 / 2) ** (1 / 3)) / 2
    assert self_bleu(["a", "a b c"]) == pytest.approx(by_hand)


def test_empty_texts_match_empty_ones_alone() -> None:
    assert self_bleu(["", ""]) == 1.0
    assert self_bleu(["", "a"]) == 0.0


def test_equals_its_definition_on_random_texts() -> None:
    draw = np.random.default_rng(7)
    for _ in range(20):
        texts = [" ".join(draw.choice(list("abcd"), size=draw.integers(1, 12))) for _ in range(6)]
        words = [text.split() for text in texts]
        scores = [bleu(own, words[:i] + words[i + 1 :]) for i, own in enumerate(words)]
        assert self_bleu(texts) == pytest.approx(sum(scores) / len(scores), abs=1e-12)


def test_one_text_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two texts"):
        self_bleu(["alone"])
