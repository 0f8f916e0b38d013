"""A record becomes one line of strict JSON, and the line becomes the record again."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from workers.records import (
    Alert,
    BadLine,
    Checkpoint,
    Engine,
    Engines,
    Environment,
    Gpu,
    Member,
    Metric,
    Population,
    Record,
    Response,
    Status,
    pack,
    unpack,
)

NODE = b'{"seq":1,"t":1,"kind":"environment","node":"n","os":"o","python":"p",%s}'
RECORDS: list[Record] = [
    Metric(3, {"kl": 0.5}, {"tokens": 10.0}),
    Metric(0, {}),
    Population(3, (Member(7, -1.5, {"length": 3.0}, 0.2), Member(8, -2.0))),
    Population(3, (Member(7, -1.5, z=0.2, engine=0), Member(8, -2.0, z=-0.2, engine=1))),
    Engines(3, 480, (Engine(0, "ready", "cuda:0", 9, 96, 1.5, 0, "ab", 3), Engine(1, "starting", "", 0, 0, 0.0))),
    Response(3, "eval", "fact-1", 0, "Paris", 2, -1.0, {"exact": 1.0}, 0.1, "Capital?", "Paris"),
    Response(3, "eval", "row-1", 0, "No.", 2, 1.0, prompt="How?", categories=("Drugs", "source: Alpaca")),
    Checkpoint(3, "checkpoints/step-000003", 10, "ab"),
    Status("training", "step 3 of 60", 0.05),
    Alert("warning", "all members scored alike", 3),
    Environment("node7", "Debian GNU/Linux 12", "CPython 3.11.7"),
    Environment("node7", "Debian", "CPython 3.11.7", "EPYC", 8, 64_000, "550.54.15", "12.4", "ab" * 32,
                (Gpu("NVIDIA H100", 81_920, "GPU-a"),), {"torch": "2.9.1"}),
]  # fmt: skip


@each_case("record", RECORDS, ids=lambda r: r.kind)
def test_record_round_trips(record: Record) -> None:
    line = unpack(pack(5, 1.25, record))
    assert (line.seq, line.t, line.record) == (5, 1.25, record)


def test_nan_and_infinity_round_trip() -> None:
    packed = pack(0, 0.0, Metric(1, {"a": math.nan, "b": math.inf, "c": -math.inf}))
    json.loads(packed, parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))
    values = unpack(packed).record.values  # type: ignore[union-attr]
    assert math.isnan(values["a"])
    assert (values["b"], values["c"]) == (math.inf, -math.inf)


@given(st.text())
def test_any_text_is_one_line(text: str) -> None:
    packed = pack(0, 0.0, Status("training", text))
    assert packed.count(b"\n") == 1
    assert packed.endswith(b"\n")


@each_case(
    ("line", "words"),
    [
        (b"{", "not JSON"),
        (b"[]", "object"),
        (b'{"seq":-1}', "seq"),
        (b'{"seq":true}', "seq"),
        (b'{"seq":1,"t":"x","kind":"metric"}', "t must be a number"),
        (
            b'{"seq":1,"t":1,"kind":"mertic"}',
            "metric, population, engines, response, checkpoint, status, alert, environment",
        ),
        (b'{"seq":1,"t":1,"kind":"metric","step":1}', "needs values"),
        (b'{"seq":1,"t":1,"kind":"metric","step":1.5,"values":{}}', "step must be int"),
        (b'{"seq":1,"t":1,"kind":"metric","step":1,"values":{"a":"x"}}', "values.a must be a number"),
        (b'{"seq":1,"t":1,"kind":"metric","step":1,"values":[]}', "values must be an object"),
        (b'{"seq":1,"t":1,"kind":"metric","step":1,"values":{},"z":1}', "no field 'z'; it has step, values, axes"),
        (b'{"seq":1,"t":1,"kind":"population","step":1,"members":[1]}', "members must be a list of members"),
        (
            b'{"seq":1,"t":1,"kind":"environment","node":"n","os":"o","python":"p","gpus":{}}',
            "gpus must be a list of gpus",
        ),
        (NODE % b'"packages":[]', "packages must be an object of texts"),
        (
            b'{"seq":1,"t":1,"kind":"environment","node":"n","os":"o","python":"p","packages":{"a":1}}',
            "packages.a must be str",
        ),
    ],
)
def test_invalid_line_is_refused_with_reason(line: bytes, words: str) -> None:
    with pytest.raises(BadLine, match=words.replace("(", r"\(")):
        unpack(line)


@pytest.mark.parametrize("key", ["reward/mean", "100 %", "%d", 'a "quoted" key', "σ ✓", "line\nbreak"])
def test_metric_of_floats_is_packed_like_any_other(key: str) -> None:
    values = {key: 0.1 + 0.2, "tiny": 5e-324, "large": -1.7976931348623157e308, "minus zero": -0.0}
    line = pack(3, 1.5, Metric(7, values, {"tokens": 512.0}))
    assert json.loads(line) == {
        "seq": 3, "t": 1.5, "kind": "metric", "step": 7, "values": values, "axes": {"tokens": 512.0},
    }  # fmt: skip
    # Whole numbers, and sums that overflow, take the way of all other records.
    for slow in ({**values, "whole": 1}, {"a": 1.7e308, "b": 1.7e308}):
        assert json.loads(pack(3, 1.5, Metric(7, slow))) == {
            "seq": 3, "t": 1.5, "kind": "metric", "step": 7, "values": slow,
        }  # fmt: skip
