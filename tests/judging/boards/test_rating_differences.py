"""A difference of two ratings is decided only if its whole interval is above 0."""

from __future__ import annotations

import pytest

from judging.boards import tables


def test_interval_that_touches_0_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [
        ("a", "b", 5.0, 0.5, 9.5),
        ("a", "c", 5.0, 0.0, 10.0),
        ("b", "c", 5.0, -1.0, 11.0),
        ("a", "d", 5.0, None, None),
    ]
    monkeypatch.setattr(tables, "pair_rows", lambda board: pairs)
    assert [row.is_decided for row in tables.rating_differences({})] == [True, False, False, False]
