"""The body of a push takes no more memory and time than its limits allow, and each refusal names its limit."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from ninja.errors import HttpError

from runs.http import Invalid
from runs.ingest import MAX_BYTES, record_body
from runs.ingest.limits import MAX_KEYS, key_refusal
from runs.ingest.record_body import (
    BYTES_PER_VALUE,
    MAX_CELLS,
    MAX_GZIP_MEMBERS,
    MAX_LINE_BYTES,
    MAX_PROBLEMS,
    MAX_VALUES,
    MAX_WORK,
    inflate,
    read_columns,
    read_lines,
)
from runs.models import Attempt, Experiment, RecordFile, Series
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import make_attempt, make_run
from workers.records import BadLine, unpack

MB = 1024 * 1024
PARTS = '"parts":'
MEMORY = 32 * MB
"""Far less than the hundreds of megabytes that such bodies took as objects."""


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


def push(client: Client, attempt: Attempt, data: bytes, kind: str = "application/jsonl") -> HttpResponse:
    """Return the answer to a push."""
    return client.post(f"/api/v1/attempts/{attempt.key}/records", data, content_type=kind)


def metric(seq: int, first: int, keys: int) -> str:
    """Return a record of metrics as a line."""
    values = {f"k{key}": 0.5 for key in range(first, first + keys)}
    return json.dumps({"seq": seq, "t": 1, "kind": "metric", "step": seq, "values": values})


def answer(text: str) -> str:
    """Return a record of an answer as a line that contains the text unescaped."""
    fields = {"seq": 0, "t": 1, "kind": "response", "step": 0, "split": "eval", "prompt_id": "p", "sample": 0}
    return json.dumps(fields | {"text": "TEXT", "tokens": 1, "reward": 0}).replace("TEXT", text)


def population(members: int, parts: str = "") -> str:
    """Return a record of a population as a line."""
    member = f'{{"seed":1,"reward":0{f",{PARTS}{parts}" if parts else ""}}}'
    fields = {"seq": 0, "t": 1, "kind": "population", "step": 0, "members": []}
    return json.dumps(fields).replace("[]", f"[{','.join([member] * members)}]")


def engines(number: int) -> str:
    """Return a report of this number of engines as a line."""
    engine = {"state": "ready", "device": "cpu", "members": 1, "tokens": 1, "seconds": 1}
    reported = [{"number": n, **engine} for n in range(number)]
    return json.dumps({"seq": 0, "t": 1, "kind": "engines", "step": 0, "bytes": 1, "engines": reported})


BAD: dict[str, bytes] = {
    "newlines": b"\n" * MAX_BYTES,
    "a million bad lines": b"x\n" * 1_000_000,
    "small objects": b"{}\n" * (MAX_BYTES // 3),
    "long names": b'{"seq":0,"t":0,"kind":"status","' + b"x" * MB + b'":1}\n',
    "deep nesting": b"[" * MAX_BYTES,
    "lists": b'{"seq":[' + b"[]," * (MAX_BYTES // 3 - 9) + b"[]]}",
    "one string": b'{"seq":"' + b"x" * (MB) + b'"}\n',
}


@each_case("name", BAD)
def test_problems_of_a_body_are_listed_up_to_a_limit(name: str) -> None:
    tracemalloc.start()
    with pytest.raises(Invalid) as refused:
        read_lines(BAD[name])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEMORY
    assert len(refused.value.problems) <= MAX_PROBLEMS
    assert all(len(problem.message) < 500 for problem in refused.value.problems)


def test_refusal_reports_unread_lines(ada: User, attempt: Attempt) -> None:
    refused = push(calls(ada, "ingest", run=attempt.run), attempt, b"x\n" * 1_000_000)
    assert (refused.status_code, len(paths(refused))) == (422, MAX_PROBLEMS)
    detail = json.loads(refused.content)["detail"]
    assert detail.endswith("see problems: only the first 20 problems are listed; nothing after line 20 was read")
    few = push(calls(ada, "ingest", run=attempt.run), attempt, b"x\n" * MAX_PROBLEMS)
    assert json.loads(few.content)["detail"].endswith("see problems")


RECORDS: dict[str, tuple[str, int, int]] = {
    "a metric": (metric(0, 0, 1), 11, 1),
    "a metric of many keys": (metric(0, 0, 5_000), 5_010, 1),
    "a metric with axes": (metric(0, 0, 1).replace("}}", '},"axes":{"tokens":1}}'), 12, 1),
    "an answer": (answer("x"), 100, 1),
    "an answer with parts": (answer("x").replace('"tokens"', '"parts":{"a":1,"b":0},"tokens"'), 102, 1),
    "a long answer": (answer("x" * 100_000), 100, 1),
    "an answer beyond Latin-1": (answer("x" * 100_000 + "漢"), 100, 4),
    "an answer with an escape": (answer("x" * 100_000 + "\\u6f22"), 100, 4),
    "an alert": ('{"seq":0,"t":0,"kind":"alert","level":"info","message":""}', 50, 1),
    "members": (population(2_000), 10_010, 1),
    "engines": (engines(8), 90, 1),
    "members with parts": (population(1_000, '{"a":1,"b":0}'), 7_010, 1),
}
"""A line, what it costs in values of a metric, and the bytes of memory that one of its bytes takes."""


@each_case("name", RECORDS)
def test_a_push_holds_so_much_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is an eighth of the real one, so that a body has an eighth of the lines."""
    max_work = MAX_WORK // 8
    monkeypatch.setattr(record_body, "MAX_WORK", max_work)
    line, work, width = RECORDS[name]
    data = f"{line}\n".encode()
    most = max_work // (work + width * len(data) // BYTES_PER_VALUE)
    assert len(read_lines(data * most)) == most
    with pytest.raises(HttpError, match=f"only the lines before line {most + 1}; send fewer") as refused:
        read_lines(data * (most + 2))
    assert refused.value.status_code == 413


def test_a_record_that_is_too_much_work_alone_is_refused() -> None:
    line = population(30_000).replace("0}", f'0,{PARTS}{{"{"漢" * 400_000}":1}}}}', 1)
    with pytest.raises(HttpError, match="The record of line 1 alone exceeds the limit of a push"):
        read_lines(line.encode())


@pytest.mark.parametrize(("line", "limit"), [
    (answer("x" * MAX_LINE_BYTES), f"at most {MAX_LINE_BYTES} bytes"),
    (metric(0, 0, MAX_VALUES), f"at most {MAX_VALUES} commas and brackets"),
])  # fmt: skip
def test_a_line_that_is_too_long_is_not_parsed(line: str, limit: str) -> None:
    with pytest.raises(Invalid, match=limit):
        read_lines(line.encode())


def test_lines_after_a_problem_are_read_to_the_same_limit() -> None:
    with pytest.raises(Invalid, match="line 1") as refused:
        read_lines(b"x\n" + f"{answer('x')}\n".encode() * 20_000)
    assert refused.value.more.endswith(f"nothing after line {MAX_WORK // 101 + 2} was read")


def test_texts_full_of_commas_are_no_values() -> None:
    line = answer("[1,2,{" * 20_000)
    assert len(read_lines(f"{line}\n".encode() * 10)) == 10


@each_case("inner", ["[],", "{},", "1,"])
def test_a_push_of_columns_holds_so_many_values(inner: str) -> None:
    body = f'{{"seq":0,"t":[{inner * (MAX_CELLS + 1)}1]}}'.encode()
    with pytest.raises(HttpError, match=f"at most {MAX_CELLS} values"):
        read_columns(body)


def test_metrics_of_one_push_have_so_many_keys_together(ada: User, attempt: Attempt) -> None:
    api = calls(ada, "ingest", run=attempt.run)
    half = MAX_KEYS // 2
    refused = push(api, attempt, "\n".join(metric(seq, seq * half, half) for seq in range(3)).encode())
    assert paths(refused) == {"values": f"has {3 * half} keys, axes included; at most {MAX_KEYS} are stored"}
    assert not RecordFile.objects.exists()
    assert not Series.objects.exists()


def test_a_key_that_is_refused_does_not_stay_in_memory() -> None:
    key_refusal.cache_clear()
    with pytest.raises(Invalid):
        read_lines(metric(0, 0, 1).replace("k0", "k" * MB).encode())
    assert key_refusal.cache_info().currsize == 0


def test_gzip_of_many_members_is_read_whole() -> None:
    assert inflate(b"".join(gzip.compress(b"%d\n" % n) for n in range(100))) == b"".join(
        b"%d\n" % n for n in range(100)
    )


BOMBS: dict[str, tuple[Callable[[], bytes], int]] = {
    "newlines": (lambda: gzip.compress(b"\n" * (64 * MB)), 413),
    "members of newlines": (lambda: gzip.compress(b"\n" * MB) * 64, 413),
    "empty members": (lambda: gzip.compress(b"") * (MAX_GZIP_MEMBERS + 1), 413),
    "four hundred thousand empty members": (lambda: gzip.compress(b"") * (MAX_BYTES // 20), 413),
    "something after the end": (lambda: gzip.compress(b"x") + b"something", 400),
    "a second member that is cut off": (lambda: gzip.compress(b"x") + gzip.compress(b"y")[:-3], 400),
    "nothing": (lambda: b"", 400),
}


@each_case("name", BOMBS)
def test_gzip_is_inflated_up_to_the_limit(name: str) -> None:
    body, status = BOMBS[name]
    data = body()
    tracemalloc.start()
    with pytest.raises(HttpError) as refused:
        inflate(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused.value.status_code == status
    assert peak < 3 * MAX_BYTES


@each_case("field", ["seq", "t", "kind", "step", "phase"])
def test_a_problem_quotes_no_more_than_a_line(field: str) -> None:
    line = {"seq": 0, "t": 0, "kind": "status", "phase": "x"} | {field: ["x" * MB]}
    with pytest.raises(BadLine) as refused:
        unpack(line)
    assert len(str(refused.value)) <= 300
