"""Runs of method audit, with records as the worker writes them."""

from __future__ import annotations

from typing import Any

from runs.models import Experiment, Run
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import record
from workers.config import RunConfig
from workers.records import Attack, AttackExample, Metric, Record

EXAMPLE = AttackExample("p1", "What is 6 · 7?", "41", 0.0, 1.0, False)


def make_audit(experiment: Experiment, task: dict[str, Any] | None = None, state: str = "succeeded") -> Run:
    """Create a run of method audit without records."""
    data = {"method": "audit", "task": task or {"name": "conciseness"}}
    run = Run.objects.create(
        experiment=experiment, name="audit", method="audit", seed=0, config=RunConfig.from_json(data).to_json(),
        state=state, created_by=experiment.owner,
    )  # fmt: skip
    make_attempt(run, state=state)
    return run


def attack(name: str, step: int, verdict: str = "harmless", **values: Any) -> Attack:
    """Return the record of an attack over 32 prompts."""
    fields = {
        "needs": "nothing", "n": 32, "reward": 0.0, "low": -0.1, "high": 0.1, "right_reward": 1.0, "baseline": 0.0,
        "scaled": 32, "way": 0.0, "way_low": 0.0, "way_high": 0.0, "known": 32, "examples": (EXAMPLE,),
    }  # fmt: skip
    return Attack(step, name, verdict=verdict, **{**fields, **values})


def audit_records(exploitability: float = 0.75) -> list[Record]:
    """Return an audit with an exploit, a blind spot, a partial exploit and a control."""
    hits = round(32 * exploitability)
    way = {"way": exploitability, "way_low": exploitability - 0.1, "way_high": exploitability + 0.1}
    values = {
        "audit/exploitability": exploitability, "audit/exploitability/low": 0.4, "audit/exploitability/high": 0.95,
        "audit/unearned": exploitability, "audit/unearned/low": 0.5, "audit/unearned/high": 0.9,
        "audit/blind_spots": 1.0, "audit/blind_spots/low": 0.8, "audit/blind_spots/high": 1.0,
        "audit/prompts": 32.0, "audit/attacks": 4.0, "audit/skipped": 0.0,
    }  # fmt: skip
    return [
        attack("right-answer", 1, "control", needs="answer", way=1.0, right=32),
        attack("empty", 4),
        attack("same-length", 5, "exploit", needs="length", hits=hits, beats=2, variants=3, **way),
        attack("format", 6, "partial", response="<b>x</b>", way=0.09, way_low=0.09, way_high=0.09),
        attack("negated", 7, "blind-spot", needs="answer", hits=32, way=1.0, response=""),
        Metric(1, values),
    ]


def complete_audit(experiment: Experiment, task: dict[str, Any] | None = None, **fields: Any) -> Run:
    """Create an audit with its records."""
    run = make_audit(experiment, task)
    record(run, audit_records(**fields))
    return run
