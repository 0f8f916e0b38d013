"""Large responses of `/series`: read a few curves at a time, sent in pieces, equal to a response made as a whole."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import orjson
import pytest
from django.contrib.auth.models import User

from esweb.asgi import make_application
from runs import access, ingest, metrics
from runs.http import ThreadedStream
from runs.ingest import Columns
from runs.metrics import Block, curve_stream, memory, read_in_turn
from runs.metrics.memory import Lease, MemoryBudget
from runs.models import Attempt, Experiment, Run
from tests.cases import each_case
from tests.esweb.asgi_requests import AsgiReply, AsgiRequest, send_request
from tests.runs.attempt_records import make_attempt, make_run

pytestmark = pytest.mark.django_db(transaction=True)
KEYS, POINTS = ("a", "b", "c"), 3000


def write(attempt: Attempt, seed: int, first: int, points: int) -> None:
    """Write the keys, with gaps, infinities and numbers of every length."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(points * len(KEYS)) * 10.0 ** rng.integers(-30, 30, points * len(KEYS))
    values[rng.integers(0, len(values), 20)] = np.nan
    values[rng.integers(0, len(values), 20)] = np.inf
    steps, rows = np.arange(first, first + points), np.tile(np.arange(points, dtype=np.uint32), len(KEYS))
    cuts = np.arange(len(KEYS) + 1) * points
    ingest.push(
        attempt, 0, Columns(first, Block(KEYS, steps, (1.7e9 + steps * 0.5).astype(np.float64), cuts, rows, values))
    )


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    attempts = [make_attempt(make_run(experiment, f"es {seed}")) for seed in range(2)]
    for seed, attempt in enumerate(attempts):
        write(attempt, seed, 0, POINTS)
        while ingest.compact(attempt.run_id):
            pass
        # Not compacted.
        write(attempt, seed + 10, POINTS, 100)
    return [attempt.run for attempt in attempts]


def get(ada: User, runs: list[Run], query: str, **headers: str) -> AsgiReply:
    """Return the reply of `/series` to a request for all keys of the runs."""
    names = "&".join([f"run={run.uid}" for run in runs] + [f"key={key}" for key in KEYS])
    all_headers = [("host", "localhost"), ("authorization", f"Bearer {access.issue(ada, 'read')[1]}"), *headers.items()]
    request = AsgiRequest("/api/v1/series", headers=all_headers, query=names + query, method="GET")
    return send_request(make_application(), request)


@each_case("query", ["", "&x=wall", "&x=relative", "&px=40", "&px=40&x=relative"])
def test_stream_equals_whole_response(ada: User, runs: list[Run], monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    whole = get(ada, runs, query)
    monkeypatch.setattr(curve_stream, "MAX_POINTS_AT_ONCE", 10)
    monkeypatch.setattr(curve_stream, "GROUP_POINTS", 5000)
    monkeypatch.setattr(curve_stream, "PIECE_BYTES", 1000)
    streamed = get(ada, runs, query)
    assert "content-length" in whole.headers
    assert "content-length" not in streamed.headers
    assert streamed.body == whole.body
    assert len(whole.json["curves"]) == len(runs) * len(KEYS)
    packed = get(ada, runs, query, **{"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert zlib.decompress(packed.body, wbits=31) == whole.body
    assert memory.budget.used == 0


def test_stream_holds_a_part_of_the_points_at_a_time(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    budget = MemoryBudget(10**9)
    monkeypatch.setattr(curve_stream, "budget", budget)
    monkeypatch.setattr(curve_stream, "GROUP_POINTS", POINTS)
    used = [budget.used for _ in read_in_turn(runs, KEYS, metrics.sizes(runs, KEYS))]
    assert len(used) == len(runs) * len(KEYS)
    assert 0 < max(used) < 2 * POINTS * memory.POINT_BYTES
    assert budget.used == 0


def test_stream_that_its_client_leaves_gives_its_memory_back(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    budget = MemoryBudget(10**9)
    monkeypatch.setattr(curve_stream, "budget", budget)
    monkeypatch.setattr(curve_stream, "PIECE_BYTES", 1000)
    turns = read_in_turn(runs, KEYS, metrics.sizes(runs, KEYS))
    stream = ThreadedStream(metrics.json_pieces(b"", turns, lambda curve: {"key": curve.key}), "application/json")
    del turns
    assert budget.used > 0
    stream.close()
    assert budget.used == 0


def test_series_without_memory_are_answered_503(ada: User, runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    budget = MemoryBudget(100)
    monkeypatch.setattr(curve_stream, "budget", budget)
    monkeypatch.setattr(curve_stream, "STREAM_PATIENCE_SECONDS", 0.01)
    other = Lease(budget)
    other.take(100)
    reply = get(ada, runs, "")
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")
    assert "no memory is left" in reply.json["detail"]
    other.give_back()
    assert get(ada, runs, "").status == 200


def test_numbers_are_encoded_as_python_floats() -> None:
    rng = np.random.default_rng(3)
    column = rng.standard_normal(20_000) * 10.0 ** rng.integers(-300, 300, 20_000)
    column[::1000] = np.round(column[::1000])
    text: Any = b"".join(curve_stream._column(column))
    assert b"[" + text + b"]" == orjson.dumps(column.tolist())
