"""A watcher reports records that come twice, out of order or not at all, and accepts a gap that the site announces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos.watchers import Watcher
from tests.flows.pushed_points import make_steps

KEY = "train/key_0"


def points(cursor: int, *records: int) -> dict[str, Any]:
    steps = [int(make_steps(record, 1)[0]) for record in records]
    return {"type": "points", "run": "r", "cursor": cursor, "points": {KEY: {"step": steps}}}


def take(*messages: dict[str, Any]) -> Watcher:
    watcher = Watcher(0, "", "r", KEY)
    for message in messages:
        watcher.take(message)
    return watcher


def test_watcher_accepts_records_in_their_order() -> None:
    watcher = take(points(3, 0, 1), points(4, 2))
    assert (watcher.problems, watcher.next_record, watcher.cursor) == ([], 3, 4)


def test_watcher_accepts_a_gap_only_after_behind() -> None:
    behind = {"type": "behind", "run": "r", "cursor": 9}
    assert take(points(3, 0), behind, points(12, 7, 8)).problems == []
    assert take(points(3, 0), points(12, 7, 8)).problems == ["r: records [7, 8] … came where [1, 2] … were due"]


@pytest.mark.parametrize("repeated", [points(3, 0, 1), points(4, 0, 1), points(4, 3, 2)])
def test_watcher_reports_records_that_come_twice_or_out_of_order(repeated: dict[str, Any]) -> None:
    assert take(points(3, 0, 1), repeated).problems


def test_watcher_reports_a_refusal() -> None:
    assert take({"type": "refused", "run": "r", "why": "There is no run r."}).problems == ["r: There is no run r."]
