"""Agreement of readers, with an example that was calculated by hand."""

from __future__ import annotations

import pytest

from workers.analysis.labels import ADJUDICATED, Label, compare_readers


def readings(pairs: str, questions: int = 10) -> list[Label]:
    """Return labels of readers a and b: each pair of letters r, w, u is a response."""
    names = {"r": "right", "w": "wrong", "u": "unclear"}
    return [
        Label(f"q{number % questions}", f"r{number}", reader, names[letter])
        for number, pair in enumerate(pairs.split())
        for reader, letter in zip("ab", pair, strict=True)
    ]


def test_kappa_of_readers_is_cohens() -> None:
    # Of 10: 4 rr, 4 ww, 1 rw, 1 wr. Observed .8, by chance .5: κ = .6.
    (pair,) = compare_readers(readings("rr rr rr rr ww ww ww ww rw wr"))
    assert (pair.readers, pair.n, pair.questions, pair.raw.value) == (("a", "b"), 10, 10, 0.8)
    assert pair.kappa.value == pytest.approx(0.6)
    assert pair.kappa.low is not None and pair.kappa.high is not None
    assert pair.kappa.low < 0.6 < pair.kappa.high <= 1
    assert pair.table == ((4, 1, 0), (1, 4, 0), (0, 0, 0))


def test_interval_resamples_questions() -> None:
    pairs = "rr ww rr ww rw " * 8
    (by_response,), (by_question,) = compare_readers(readings(pairs, 40)), compare_readers(readings(pairs, 5))
    assert (by_response.questions, by_question.questions) == (40, 5)
    # Both disagreements and agreements come whole questions at a time: fewer questions say less.
    widths = [pair.kappa.high - pair.kappa.low for pair in (by_response, by_question)]  # type: ignore[operator]
    assert widths[1] > 1.5 * widths[0]


def test_interval_without_a_difference_is_exact() -> None:
    (pair,) = compare_readers(readings("rr ww rr ww rr ww rr ww", 8))
    # .025^(1/8) of equal verdicts; κ by chance .5.
    assert pair.raw.low == pytest.approx(0.6306, abs=1e-4)
    assert (pair.kappa.value, pair.kappa.high) == (1.0, 1.0)
    assert pair.kappa.low == pytest.approx(0.2612, abs=1e-4)


def test_agreement_on_a_kind_counts_both_readers() -> None:
    labels = [
        Label("q1", "a", "a", "wrong", frozenset({"echo"})), Label("q1", "a", "b", "wrong", frozenset({"echo"})),
        Label("q2", "b", "a", "wrong", frozenset({"echo"})), Label("q2", "b", "b", "wrong"),
        Label("q3", "c", "a", "wrong"), Label("q3", "c", "b", "wrong"),
    ]  # fmt: skip
    (pair,) = compare_readers(labels)
    echo = next(kind for kind in pair.kinds if kind.kind == "echo")
    assert (echo.both, echo.only_first, echo.only_second) == (1, 1, 0)
    assert echo.kappa.value == pytest.approx(0.4)
    empty = next(kind for kind in pair.kinds if kind.kind == "empty")
    assert (empty.kappa.value, empty.kappa.why) == (None, "n/a: neither used it")


def test_readers_without_common_response_and_adjudications_are_not_compared() -> None:
    labels = [Label("q", "1", "a", "right"), Label("q", "2", "b", "right"), Label("q", "1", ADJUDICATED, "wrong")]
    assert compare_readers(labels) == []
