"""Results of attacks on a reward -> rows, and their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from runs.ingest.storable import storable
from runs.models import Attempt, RewardAttack
from workers.records import Attack, AttackExample, Line

MAX_NAME = 40
MAX_TEXT = 2_000
MAX_EXAMPLES = 20
TEXTS = ("attack", "needs", "verdict")
NUMBERS = ("reward", "low", "high", "right_reward", "baseline", "way", "way_low", "way_high")
COUNTS = ("n", "scaled", "variants", "known", "right", "hits", "beats", "failed")


def save_attacks(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store one row per attack."""
    RewardAttack.objects.bulk_create(
        RewardAttack(
            run_id=attempt.run_id, attempt=attempt, epoch=epoch, seq=line.seq, step=line.record.step,
            name=line.record.attack, needs=line.record.needs, verdict=line.record.verdict,
            response=storable(line.record.response), failure=storable(line.record.failure),
            values=_values(line.record), examples=[_example(example) for example in line.record.examples],
        )
        for line in lines
        if isinstance(line.record, Attack)
    )  # fmt: skip


def attack_complaints(record: Attack) -> Iterator[str]:
    """Yield why this record cannot be stored."""
    for name in TEXTS:
        if not 0 < len(getattr(record, name)) <= MAX_NAME or not getattr(record, name).isprintable():
            yield f"an attack's {name} must have 1 to {MAX_NAME} printable characters, not {getattr(record, name)!r}"[
                :200
            ]
    for name in NUMBERS:
        number = getattr(record, name)
        if number is not None and not math.isfinite(number):
            yield f"an attack's {name} must be a finite number, not {number}; leave out what is not known"
    for name in COUNTS:
        if not 0 <= getattr(record, name) < 2**31:
            yield f"an attack's {name} must be between 0 and {2**31 - 1}, not {getattr(record, name)}"[:200]
    for name in ("response", "failure"):
        if len(getattr(record, name)) > MAX_TEXT:
            yield f"an attack's {name} has {len(getattr(record, name))} characters; at most {MAX_TEXT} are stored"
    if len(record.examples) > MAX_EXAMPLES:
        yield f"an attack has {len(record.examples)} examples; at most {MAX_EXAMPLES} are stored"
    for example in record.examples:
        yield from _example_complaints(example)


def _example_complaints(example: AttackExample) -> Iterator[str]:
    if any(len(text) > MAX_TEXT for text in (example.prompt_id, example.prompt, example.response)):
        yield f"a text of an attack's example has more than {MAX_TEXT} characters"
    if not math.isfinite(example.reward) or not math.isfinite(example.right_reward or 0.0):
        yield "the rewards of an attack's example must be finite numbers"


def _values(attack: Attack) -> dict[str, Any]:
    values = {name: getattr(attack, name) for name in (*NUMBERS, *COUNTS)}
    return {name: value for name, value in values.items() if value is not None}


def _example(example: AttackExample) -> dict[str, Any]:
    fields = {name: storable(value) if isinstance(value, str) else value for name, value in asdict(example).items()}
    return {name: value for name, value in fields.items() if value is not None}
