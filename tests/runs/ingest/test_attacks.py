"""Results of attacks become rows; what cannot be stored is refused in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from runs.ingest import ingest, refusal
from runs.models import Attempt, Experiment, RewardAttack
from tests.cases import each_case
from tests.runs.attempt_records import lines, make_attempt, make_run
from tests.runs.audit_runs import EXAMPLE, attack
from workers.records import Line
from workers.records.lines import pack, unpack

EMPTY = attack("empty", 4, response="", failure="it\x00 failed")


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


def test_attack_is_stored_once_without_absent_numbers(attempt: Attempt) -> None:
    record = replace(EMPTY, right_reward=None)
    assert [ingest(attempt, 0, lines([record]), offset=1) for _ in range(2)] == [1, 0]
    row = RewardAttack.objects.get()
    assert (row.run, row.step, row.name, row.needs, row.verdict) == (attempt.run, 4, "empty", "nothing", "harmless")
    assert "right_reward" not in row.values and (row.values["n"], row.values["hits"]) == (32, 0)
    assert row.failure == "it\ufffd failed"
    assert row.examples == [
        {"prompt_id": "p1", "prompt": "What is 6 · 7?", "response": "41", "reward": 0.0, "right_reward": 1.0,
         "is_right": False}
    ]  # fmt: skip


def test_attack_survives_the_file() -> None:
    unknown = replace(EMPTY, reward=None, examples=(replace(EXAMPLE, right_reward=None, is_right=None),))
    for record in (EMPTY, unknown):
        assert unpack(pack(0, 1.0, record)).record == record


@each_case(
    ("fields", "reason"),
    [
        ({"attack": ""}, "attack must have 1 to 40 printable characters"),
        ({"needs": "a\nb"}, "needs must have 1 to 40 printable"),
        ({"verdict": "a" * 41}, "verdict must have 1 to 40"),
        ({"reward": math.nan}, "reward must be a finite number"),
        ({"way_high": math.inf}, "way_high must be a finite number"),
        ({"hits": -1}, "hits must be between 0 and"),
        ({"response": "a" * 2001}, "response has 2001 characters"),
        ({"examples": (EXAMPLE,) * 21}, "21 examples; at most 20"),
        ({"examples": (replace(EXAMPLE, prompt="a" * 2001),)}, "more than 2000 characters"),
        ({"examples": (replace(EXAMPLE, reward=math.nan),)}, "must be finite numbers"),
    ],
)
def test_attack_beyond_the_limits_is_refused(fields: dict[str, object], reason: str) -> None:
    assert reason in (refusal(Line(0, 1.0, replace(EMPTY, **fields))) or "")
