"""Final labels of several readers."""

from __future__ import annotations

from datetime import UTC, datetime

from workers.analysis.labels import ADJUDICATED, FinalLabel, Label, Origin, final_labels


def label(reader: str, verdict: str, *kinds: str, hour: int = 12) -> Label:
    return Label("q", "r", reader, verdict, frozenset(kinds), labelled_at=datetime(2026, 1, 1, hour, tzinfo=UTC))


def final(*labels: Label) -> FinalLabel:
    (result,) = final_labels(labels).values()
    return result


def test_single_reading_is_open() -> None:
    assert final(label("a", "right")) == FinalLabel(None, frozenset(), Origin.OPEN, 1)
    assert not final(label("a", "right")).is_disputed


def test_equal_readings_are_agreed() -> None:
    both = frozenset({"echo"})
    assert final(label("a", "wrong", "echo"), label("b", "wrong", "echo")) == FinalLabel(
        "wrong", both, Origin.AGREED, 2
    )


def test_kind_of_one_reader_alone_is_disputed() -> None:
    result = final(label("a", "wrong", "echo", "empty"), label("b", "wrong", "empty"))
    assert (result.verdict, result.kinds, result.disputed_kinds) == ("wrong", {"empty"}, {"echo"})
    assert result.is_disputed


def test_different_verdicts_are_open_and_disputed() -> None:
    result = final(label("a", "wrong"), label("b", "right"), label("c", "right"))
    assert (result.verdict, result.origin, result.is_disputed) == (None, Origin.OPEN, True)


def test_adjudication_decides() -> None:
    result = final(label("a", "wrong"), label("b", "right", "echo"), label(ADJUDICATED, "unclear"))
    assert result == FinalLabel("unclear", frozenset(), Origin.ADJUDICATED, 2)
    assert not result.is_disputed


def test_newest_label_of_a_reader_counts() -> None:
    result = final(label("a", "wrong", hour=14), label("b", "wrong"), label("a", "right", hour=13))
    assert (result.verdict, result.readers) == ("wrong", 2)
