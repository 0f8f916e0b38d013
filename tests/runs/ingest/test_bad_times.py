"""Records whose times are no Unix seconds are stored, and reported with the likely unit of their times."""

import json
import math
from pathlib import Path

import pytest
from django.utils import timezone

from runs import access
from runs.ingest import as_columns, compact, ingest, insert_push, push, read_columns
from runs.metrics import known_times, read
from runs.models import Attempt, Batch, Chunk, Origin
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.runs.attempt_records import NOON, make_attempt, make_run
from workers.records import Line, Metric, pack

CASE = Path(__file__).resolve().parents[4] / "shared" / "data" / "cases-3" / "nanoseconds"
BAD = (NOON * 1e3, NOON * 1e6, NOON * 1e9, 1e300, -1.0, math.nan, math.inf)
UNITS = ("milliseconds (ms)", "microseconds (µs)", "nanoseconds (ns)")
JSON = "application/json"


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def timed(*times, first=0):
    """Return a line for each time, whose step is its seq."""
    return [Line(seq, t, Metric(seq, {"reward/mean": float(seq)})) for seq, t in enumerate(times, first)]


def columnar(*times):
    steps = list(range(len(times)))
    return {"seq": 0, "t": list(times), "step": steps, "values": {"reward/mean": [float(step) for step in steps]}}


def warnings(attempt):
    return [event.why for event in attempt.events.filter(level="warning").order_by("pk")]


def axis(attempt, x):
    return [curve.x.tolist() for curve in read([attempt.run], ["reward/mean"], x=x)]


def test_push_stores_the_records_and_names_each_with_the_likely_unit(ada, attempt):
    api = calls(ada, "ingest", run=attempt.run)
    address = f"/api/v1/attempts/{attempt.key}/records"
    body = b"".join(pack(line.seq, line.t, line.record) for line in timed(NOON, *BAD))
    reply = api.generic("POST", address, body, content_type="application/jsonl").json()
    assert (reply["kept"], reply["next_seq"]) == (8, 8)
    assert [problem["path"] for problem in reply["problems"]] == [f"line {number}" for number in range(2, 9)]
    assert all(unit in reply["problems"][row]["message"] for row, unit in enumerate(UNITS))
    assert "the record is stored, but its time is unknown" in reply["problems"][-1]["message"]
    assert axis(attempt, "step") == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert axis(attempt, "wall") == [[NOON]]
    assert axis(attempt, "relative") == [[0.0]]
    assert [unit in why for unit, why in zip((*UNITS, "no Unix seconds"), warnings(attempt), strict=True)] == [True] * 4


def test_push_of_columns_names_the_first_entries_and_counts_the_others(ada, attempt):
    api = calls(ada, "ingest", run=attempt.run)
    body = columnar(*[NOON * 1e9] * 30, "NaN", NOON)
    reply = api.generic("POST", f"/api/v1/attempts/{attempt.key}/records", json.dumps(body), content_type=JSON).json()
    assert reply["kept"] == 32
    assert [problem["path"] for problem in reply["problems"]] == [*(f"t.{row}" for row in range(20)), "t"]
    assert reply["problems"][-1]["message"].startswith("11 more records")
    assert axis(attempt, "wall") == [[NOON]]


def test_warning_is_stored_once_for_a_file_and_unit(attempt):
    for first in range(3):
        push(attempt, 0, timed(NOON * 1e3, first=first))
        ingest(attempt, 1, timed(NOON * 1e3, NOON, first=2 * first), offset=100 * first)
    assert [why.split(",")[0] for why in warnings(attempt)] == [
        "Times of records.0.jsonl look like milliseconds (ms)",
        "Times of records.1.jsonl look like milliseconds (ms)",
    ]
    assert "first at seq 0: 1700000000000." in warnings(attempt)[0]


def test_time_on_which_a_reader_has_remarked_has_no_second_warning(attempt):
    Attempt.objects.filter(pk=attempt.pk).update(
        origin=Origin.IMPORT, cluster=None, state="lost", drained_at=timezone.now()
    )
    attempt.refresh_from_db()
    ingest(attempt, 0, timed(math.nan))
    assert warnings(attempt) == []
    ingest(attempt, 0, timed(NOON * 1e6, first=1))
    assert "microseconds (µs)" in warnings(attempt)[0]


def test_good_times_are_reported_as_before(ada, attempt):
    api = calls(ada, "ingest", run=attempt.run)
    body = json.dumps(columnar(NOON, NOON + 1))
    reply = api.generic("POST", f"/api/v1/attempts/{attempt.key}/records", body, content_type=JSON)
    assert reply.json() == {"kept": 2, "next_seq": 2}
    assert warnings(attempt) == []


@pytest.mark.django_db(transaction=True)
def test_fast_path_leaves_bad_times_to_the_route(ada, attempt):
    _, token = access.issue(ada, "ingest", run=attempt.run)
    assert insert_push(token, attempt.key, 0, as_columns(timed(NOON, NOON * 1e9))) is None
    assert insert_push(token, attempt.key, 0, as_columns(timed(NOON, NOON + 1))).new == 2


@each_case("compacts", [False, True])
def test_run_that_began_with_bad_times_counts_from_its_first_good_one(attempt, compacts):
    push(attempt, 0, timed(NOON * 1e9, -5.0))
    push(attempt, 0, timed(NOON * 1e3, math.nan, first=2))
    push(attempt, 0, timed(NOON + 7, NOON + 9, first=4))
    while compacts and compact(attempt.run_id):
        pass
    assert Batch.objects.exists() is not compacts
    assert axis(attempt, "relative") == [[0.0, 2.0]]
    assert axis(attempt, "wall") == [[NOON + 7, NOON + 9]]
    # Chunks of earlier versions have the least number, whatever it is.
    Chunk.objects.filter(key="").update(min_value=-5.0)
    assert axis(attempt, "relative") == [[0.0, 2.0]]


def test_run_without_a_time_has_no_curve_by_time(attempt):
    push(attempt, 0, timed(*BAD))
    assert (axis(attempt, "wall"), axis(attempt, "relative")) == ([], [])
    assert len(axis(attempt, "step")[0]) == len(BAD)


def test_times_are_returned_as_they_are_if_all_are_known():
    good = read_columns(json.dumps(columnar(NOON, NOON + 1)).encode()).points.t
    assert known_times(good) is good


@pytest.mark.skipif(not CASE.exists(), reason="the case nanoseconds is not beside this checkout")
def test_published_case_is_stored_reported_and_its_pages_answer(ada, ada_client, bo_client):
    """The steps of the case, in its own words."""
    create, records, *_ = [
        json.loads(line[line.index("{") : line.rindex("}") + 1])
        for line in (CASE / "steps.md").read_text().splitlines()[:2]
    ]
    run = calls(ada, "launch").post("/api/v1/runs", create, content_type=JSON).json()
    address = f"/api/v1/attempts/{run['attempt']}/records"
    token = {"Authorization": f"Bearer {run['token']}"}
    reply = ada_client.post(address, records, content_type=JSON, headers=token).json()
    assert reply["kept"] == 2
    assert all("nanoseconds (ns)" in problem["message"] for problem in reply["problems"])
    experiment = Attempt.objects.get(key=run["attempt"]).run.experiment_id
    for person in (ada_client, bo_client):
        for page in (f"/runs/{run['uid']}/", f"/experiments/{experiment}/"):
            assert person.get(page, {"x": "wall"}).status_code == 200
    assert b"nanoseconds (ns)" in ada_client.get(f"/runs/{run['uid']}/").content
