"""A columnar push equals the lines of a file and is stored exactly once; invalid data is refused with a message."""

import json
from unittest import mock

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.ingest import BadColumns, Gap, ingest, push, read_columns
from runs.ingest.columnar import MAX_PROBLEMS
from runs.metrics import block, read
from runs.models import Batch, RecordFile, Series
from tests.runs.attempt_records import lines, make_attempt, make_run, metrics
from workers.records import Metric

NAN, INF = float("nan"), float("inf")
NAMES = {str(NAN): "NaN", str(INF): "Infinity", str(-INF): "-Infinity"}
cells = st.none() | st.integers(-(2**60), 2**60) | st.floats()
columns = st.integers(0, 6).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "step": st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n),
            "t": st.lists(st.floats(0, 2e9), min_size=n, max_size=n),
            "values": st.dictionaries(st.sampled_from("abc"), st.lists(cells, min_size=n, max_size=n)),
            "axes": st.dictionaries(st.sampled_from(["tokens"]), st.lists(cells, min_size=n, max_size=n)),
        }
    )
)


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def columnar(count, first=0, key="reward/mean"):
    """Return the same numbers as `metrics` gives as lines."""
    seqs = range(first, first + count)
    body = {"seq": first, "t": [1_700_000_000.0 + s for s in seqs], "step": list(seqs)}
    body |= {"axes": {"tokens": [10.0 * s for s in seqs]}, "values": {key: [float(s * s) for s in seqs]}}
    return read_columns(json.dumps(body).encode())


def json_floats(column):
    return [NAMES.get(str(value), value) if isinstance(value, float) else value for value in column]


def wrong(**body):
    """path -> message of what is wrong with columns that are right but for this."""
    right = {"seq": 0, "t": [1.0, 2.0], "step": [1, 2], "values": {"a": [0.5, 1.5]}}
    changed = {name: value for name, value in {**right, **body}.items() if value is not ...}
    with pytest.raises(BadColumns) as refused:
        read_columns(json.dumps(changed).encode())
    return {problem.path: problem.message for problem in refused.value.problems}


@given(columns)
def test_columns_are_what_the_same_records_are_as_lines(body):
    n = len(body["step"])
    sent = {"seq": 3, "t": body["t"], "step": body["step"]}
    sent |= {kind: {key: json_floats(column) for key, column in body[kind].items()} for kind in ("values", "axes")}
    got = read_columns(orjson.dumps(sent))

    def values_at(kind, i):
        return {key: float(column[i]) for key, column in body[kind].items() if column[i] is not None}

    records = ((body["t"][i], Metric(body["step"][i], values_at("values", i), values_at("axes", i))) for i in range(n))
    expected = block(records)
    assert (got.first_seq, len(got), got.next_seq) == (3, n, 3 + n)
    assert got.points.keys == expected.keys
    for name in ("steps", "t", "cuts", "rows", "values"):
        a, b = getattr(got.points, name), getattr(expected, name)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), name


def test_replay_stores_nothing_and_overlap_only_its_new_records(attempt):
    assert (push(attempt, 0, columnar(3)).new, push(attempt, 0, columnar(3)).new) == (3, 0)
    result = push(attempt, 0, columnar(4, first=1))
    assert (result.new, result.next_seq) == (2, 5)
    (curve,) = read([attempt.run], ["reward/mean"], x="tokens")
    assert (curve.x.tolist(), curve.y.tolist()) == ([0, 10, 20, 30, 40], [0, 1, 4, 9, 16])
    assert [(b.first_seq, b.last_seq) for b in Batch.objects.order_by("id")] == [(0, 2), (3, 4)]


def test_new_points_are_published_to_open_pages(attempt, django_capture_on_commit_callbacks):
    with mock.patch("runs.metrics.live.publish_points") as publish, django_capture_on_commit_callbacks(execute=True):
        push(attempt, 0, columnar(3))
        push(attempt, 0, columnar(3))
    (((run, *_), _),) = publish.call_args_list
    assert run == attempt.run.uid


def test_gap_is_reported_and_nothing_is_stored(attempt):
    push(attempt, 0, columnar(2))
    with pytest.raises(Gap) as refused:
        push(attempt, 0, columnar(2, first=3))
    assert (refused.value.expected, refused.value.got) == (2, 3)
    assert RecordFile.objects.get().next_seq == 2


def test_lines_and_columns_of_one_file_may_take_turns(attempt):
    push(attempt, 0, columnar(2))
    ingest(attempt, 0, metrics(4))
    push(attempt, 0, columnar(6))
    summary = Series.objects.get(key="reward/mean")
    assert (summary.points, summary.last_value, summary.max_value) == (6, 25, 25)


def test_records_that_hold_nothing_count_as_records(attempt):
    empty = read_columns(b'{"seq":0,"t":[1,2],"step":[0,1],"values":{"a":[null,null]}}')
    assert push(attempt, 0, empty).next_seq == 2
    assert not Series.objects.exists()


def test_cells_of_an_overlap_are_not_stored_again(attempt):
    ingest(attempt, 0, lines([Metric(0, {"a": 1.0}), Metric(1, {})]))
    push(attempt, 0, read_columns(b'{"seq":0,"t":[1,2,3],"step":[0,1,2],"values":{"a":[1,null,3],"b":[7,null,null]}}'))
    assert dict(Series.objects.values_list("key", "points")) == {"a": 2}


def test_each_problem_is_named_with_its_position():
    assert wrong(seq=-1) == {"seq": "must be a whole number from 0 to 9223372036854775807"}
    assert wrong(step=...) == {"step": "is missing"}
    assert "the fields are seq, t, step, axes, values" in wrong(kind="metric")["kind"]
    assert wrong(step=[1, 2.5]) == {"step": "must contain 64-bit whole numbers"}
    assert wrong(step=[1, 2**63]) == {"step": "must contain 64-bit whole numbers"}
    assert "has 1 entries, but step has 2" in wrong(t=[1])["t"]
    assert "must contain numbers, seconds since 1970" in wrong(t=[1, "2.5"])["t"]
    assert "must contain numbers, seconds since 1970" in wrong(t=[1, None])["t"]
    assert "must contain numbers, NaN, Infinity, -Infinity, or null" in wrong(values={"a": [1, "1.5"]})["values.a"]
    assert "must contain numbers" in wrong(values={"a": [1, True]})["values.a"]
    assert wrong(values=[]) == {"values": "must be an object of lists, each with one entry per record"}
    assert "1 to 250 characters" in wrong(values={"": [1, 2]})["values."]
    assert "at most 10000 are stored" in wrong(values={f"k{i}": [1, 2] for i in range(10_001)})["values"]
    assert set(wrong(axes={"x": [1]}, values={"a": [1, 2], "b": []})) == {"axes.x", "values.b"}


def test_body_that_is_no_object_is_refused():
    for body in (b"", b"[1]", b"{", b"\xff"):
        with pytest.raises(BadColumns, match=r"not JSON|must be an object with seq, t, step, axes, values"):
            read_columns(body)
    assert len(wrong(values={f"k{i}": [1] for i in range(1000)})) == MAX_PROBLEMS
