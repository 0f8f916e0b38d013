"""Results of probes become rows; a number that is not finite is refused in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from runs.ingest import delete_records, ingest, refusal
from runs.models import Attempt, AttemptEvent, Experiment, ProbeResult
from tests.cases import each_case
from tests.runs.attempt_records import lines, make_attempt, make_run
from workers.records import Line, Probe, ProbeValue, Record
from workers.records.lines import pack, unpack

BAND = {"null": 1.0, "null_low": 0.75, "null_high": 1.25}
NORM = Probe(
    10, "magnitude", "norm", "k3m9x2p7qa@10", (ProbeValue(1.5, 64, **BAND), ProbeValue(0.0, 9, "model.norm.weight"))
)


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


def write(attempt: Attempt, *written: Record) -> int:
    return ingest(attempt, 0, lines(written), offset=1)


def test_result_is_stored_once_without_absent_fields(attempt: Attempt) -> None:
    assert [write(attempt, NORM), write(attempt, NORM)] == [1, 0]
    row = ProbeResult.objects.get()
    assert (row.run, row.attempt, row.epoch, row.seq, row.step) == (attempt.run, attempt, 0, 0, 10)
    assert (row.probe, row.measure, row.subject, row.other, row.verdict) == (
        "magnitude", "norm", "k3m9x2p7qa@10", "", "",
    )  # fmt: skip
    assert row.values == [
        {"value": 1.5, "n": 64, "null": 1.0, "null_low": 0.75, "null_high": 1.25},
        {"value": 0.0, "n": 9, "tensor": "model.norm.weight"},
    ]


def test_result_survives_the_file_with_draws_and_pairs(attempt: Attempt) -> None:
    pair = ProbeValue(-0.5, 3, "a", "b", low=-1.0, high=0.0, x=0.0, draw=0)
    audit = Probe(3, "audit", "shared_noise", "a@3", (pair,), "b@3", "independent")
    line = unpack(pack(0, 1.0, audit))
    ingest(attempt, 0, [line], offset=1)
    row = ProbeResult.objects.get()
    assert (row.other, row.verdict) == ("b@3", "independent")
    assert [ProbeValue(**fields) for fields in row.values] == [pair]


def test_results_are_deleted_with_the_records_of_their_run(attempt: Attempt) -> None:
    write(attempt, NORM)
    delete_records(attempt.run)
    assert not ProbeResult.objects.exists()


@each_case(
    ("fields", "reason"),
    [
        ({"value": math.nan}, "value must be a finite number, not nan"),
        ({"low": math.inf}, "low must be a finite number, not inf"),
        ({"null_high": -math.inf}, "null_high must be a finite number, not -inf"),
        ({"x": math.nan}, "x must be a finite number"),
        ({"n": -1}, "n must be between 0 and"),
        ({"draw": 2**63}, "draw must be between 0 and"),
        ({"tensor": "a" * 301}, "tensor has 301 characters; at most 300"),
        ({"other_tensor": "a\x00"}, "other_tensor must contain no control characters"),
    ],
)
def test_values_beyond_the_limits_are_refused(fields: dict[str, object], reason: str) -> None:
    record = replace(NORM, values=(replace(NORM.values[0], **fields),))
    assert reason in (refusal(Line(0, 1.0, record)) or "")


@each_case(
    ("fields", "reason"),
    [
        ({"values": NORM.values[:1] * 20_001}, "20001 values; at most 20000"),
        ({"probe": "a" * 41}, "probe must have 1 to 40 characters, not 41"),
        ({"measure": ""}, "measure must have 1 to 40 characters, not 0"),
        ({"subject": "a" * 301}, "subject must have 1 to 300 characters, not 301"),
        ({"other": "a" * 301}, "other has 301 characters; at most 300"),
        ({"verdict": "a" * 101}, "verdict has 101 characters; at most 100"),
        ({"subject": "a\x00b"}, "subject must contain no control characters"),
        ({"step": 2**63}, "seq and step must fit 64 bits"),
    ],
)
def test_results_beyond_the_limits_are_refused(fields: dict[str, object], reason: str) -> None:
    assert reason in (refusal(Line(0, 1.0, replace(NORM, **fields))) or "")


def test_refused_result_leaves_a_warning_and_the_others(attempt: Attempt) -> None:
    bad = replace(NORM, values=(ProbeValue(math.nan, 1),))
    assert write(attempt, bad, NORM) == 1
    assert ProbeResult.objects.get().seq == 1
    assert "value must be a finite number" in " ".join(AttemptEvent.objects.values_list("why", flat=True))


def test_largest_results_are_accepted() -> None:
    values = (ProbeValue(0.5, 2**63 - 1, "a" * 300, draw=0),) * 20_000
    assert refusal(Line(0, 1.0, replace(NORM, values=values, probe="a" * 40, verdict="a" * 100))) is None
