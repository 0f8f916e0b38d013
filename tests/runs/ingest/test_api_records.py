"""Pushing records: the lines of the file, exactly once, with every refusal in words."""

import gzip
import json

import numpy as np
import pytest

from runs.ingest.api import COLUMNS
from runs.metrics import read
from runs.models import RecordFile
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import lines, make_attempt, make_run, metrics
from workers.records import Metric, Status, pack

LIMIT = 8 * 1024 * 1024


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


@pytest.fixture
def api(ada, attempt):
    return calls(ada, "ingest", run=attempt.run)


def body(some):
    return b"".join(pack(line.seq, line.t, line.record) for line in some)


def push(api, attempt, data, epoch=0, **headers):
    address = f"/api/v1/attempts/{attempt.key}/records?epoch={epoch}"
    return api.generic("POST", address, data, content_type="application/jsonl", headers=headers)


def test_lines_are_stored_once_and_next_seq_is_returned(api, attempt):
    assert push(api, attempt, body(metrics(3))).json() == {"kept": 3, "next_seq": 3}
    assert push(api, attempt, body(metrics(5))).json() == {"kept": 2, "next_seq": 5}
    assert push(api, attempt, body(metrics(5))).json() == {"kept": 0, "next_seq": 5}
    (curve,) = read([attempt.run], ["reward/mean"])
    assert list(curve.y) == [0, 1, 4, 9, 16]


def test_epochs_count_apart(api, attempt):
    push(api, attempt, body(metrics(3)))
    assert push(api, attempt, body(metrics(2)), epoch=1).json() == {"kept": 2, "next_seq": 2}


def test_gzip_is_welcome(api, attempt):
    answer = push(api, attempt, gzip.compress(body(metrics(3))), **{"content-encoding": "gzip"})
    assert answer.json() == {"kept": 3, "next_seq": 3}


def test_push_with_a_gap_gets_the_expected_seq(api, attempt):
    push(api, attempt, body(metrics(2)))
    refused = push(api, attempt, body(metrics(1, first=5)))
    assert refused.status_code == 409
    assert refused.json()["expected"] == 2
    assert "must have seq 2, not 5" in refused.json()["detail"]
    assert paths(refused) == {}


def test_invalid_lines_are_named_and_none_is_stored(api, attempt):
    data = body(metrics(1)) + b"nonsense\n" + body(lines([Metric(0, {"k" * 300: 1.0})], first=1)) + b"[1]\n"
    refused = push(api, attempt, data)
    assert refused.status_code == 422
    problems = paths(refused)
    assert "not JSON" in problems["line 2"]
    assert "1 to 250 characters" in problems["line 3"]
    assert "a record must be a JSON object" in problems["line 4"]
    assert not RecordFile.objects.exists()


def test_an_unknown_kind_names_the_valid_ones(api, attempt):
    refused = push(api, attempt, json.dumps({"seq": 0, "t": 1, "kind": "histogram"}).encode())
    assert "must be one of metric, population, engines, response, checkpoint, status, alert" in paths(refused)["line 1"]


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_more_than_the_limit_is_refused_with_the_limit(api, attempt, encoding):
    data = b"x" * (LIMIT + 1)
    data = gzip.compress(data) if encoding == "gzip" else data
    refused = push(api, attempt, data, **{"content-encoding": encoding})
    assert refused.status_code == 413
    assert str(LIMIT) in refused.json()["detail"]


@each_case(
    ("data", "encoding", "status"),
    [(b"not gzip", "gzip", 400), (gzip.compress(b"x" * 1000)[:-20], "gzip", 400), (b"", "br", 415)],
    ids=["not gzip", "cut short", "unknown encoding"],
)
def test_a_body_that_cannot_be_inflated_is_refused_in_words(api, attempt, data, encoding, status):
    refused = push(api, attempt, data, **{"content-encoding": encoding})
    assert refused.status_code == status
    assert "gzip" in refused.json()["detail"]


def test_nothing_is_nothing(api, attempt):
    assert push(api, attempt, b"").json() == {"kept": 0, "next_seq": 0}


def test_a_wrong_epoch_or_key_is_refused_in_words(api, attempt):
    assert "greater than or equal to 0" in paths(push(api, attempt, b"", epoch=-1))["epoch"]
    assert api.post("/api/v1/attempts/esweb-none-a1/records").status_code == 404


def test_a_push_reaches_the_attempts_phase(api, attempt):
    push(api, attempt, body(lines([Status("training", "\ud800", 0.25)])))
    attempt.refresh_from_db()
    assert (attempt.phase, attempt.progress) == ("training", 0.25)


def test_columnar_example_reads_like_lines(api, attempt):
    address = f"/api/v1/attempts/{attempt.key}/records"
    first = api.post(address, json.dumps(COLUMNS), content_type="application/json; charset=utf-8")
    assert first.json() == {"kept": 2, "next_seq": 2}
    again = gzip.compress(json.dumps(COLUMNS).encode())
    headers = {"content-encoding": "gzip"}
    assert api.post(address, again, content_type="application/json", headers=headers).json()["kept"] == 0
    (reward, kl) = read([attempt.run], ["reward/mean", "kl"], x="tokens")
    assert (reward.y[0], np.isnan(reward.y[1]), kl.x.tolist(), kl.y.tolist()) == (-4.2, True, [1024], [0.01])


def test_invalid_columns_are_refused_with_each_position(api, attempt):
    bad = COLUMNS | {"t": [1.0], "step": [1, "two"]}
    refused = api.post(f"/api/v1/attempts/{attempt.key}/records", json.dumps(bad), content_type="application/json")
    assert refused.status_code == 422
    assert set(paths(refused)) == {"t", "step"}
    assert not RecordFile.objects.exists()


def test_columns_with_a_gap_get_the_expected_seq(api, attempt):
    late = COLUMNS | {"seq": 7}
    refused = api.post(f"/api/v1/attempts/{attempt.key}/records", json.dumps(late), content_type="application/json")
    assert (refused.status_code, refused.json()["expected"]) == (409, 0)
