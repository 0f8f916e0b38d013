"""Populations, engines, responses and checkpoints -> rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from django.db import connection
from django.utils import timezone

from runs.ingest.prompts import prompt_ids
from runs.ingest.storable import number, numbers, storable
from runs.models import Attempt, Checkpoint, EngineReport, Population, Response, Score
from workers import records
from workers.records import Engine, Line, Member

DUE = """
INSERT INTO runs_collapse (run_id, split, step, arrived, measured)
SELECT %s, split, step, n, 0 FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS come (split, step, n)
ON CONFLICT (run_id, split, step) DO UPDATE SET arrived = runs_collapse.arrived + excluded.arrived
"""
SUPERSEDE = """
UPDATE runs_response SET is_superseded = true WHERE id = ANY(ARRAY(
    SELECT ranked.id FROM (
        SELECT r.id, row_number() OVER (
            PARTITION BY split, step, prompt_id, sample ORDER BY a.n DESC, epoch DESC, seq DESC
        ) AS place, rank() OVER (
            PARTITION BY split, step ORDER BY a.n DESC, epoch DESC
        ) AS evaluation, a.cluster_id IS NOT NULL AS is_native
        FROM runs_response r JOIN runs_attempt a ON a.id = r.attempt_id
        WHERE r.run_id = %s AND step = ANY(%s) AND NOT is_superseded
    ) AS ranked
    WHERE place > 1 OR is_native AND evaluation > 1
))
"""
"""A run that evaluates a step again, after a resume, replaces the whole evaluation with its first answer: answers of
two trainings are never mixed.

An array is made once. A join would rank all answers anew for each of them where the table was empty when the
database last looked, as a new one is: a first import of 3000 then takes minutes."""


def keep_populations(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """One row an iteration."""
    Population.objects.bulk_create(
        Population(**_which(attempt, epoch, line), members=[_member(m) for m in line.record.members])
        for line in lines
        if isinstance(line.record, records.Population)
    )


def keep_engines(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store one row per report."""
    EngineReport.objects.bulk_create(
        EngineReport(
            **_which(attempt, epoch, line),
            t=line.t,
            bytes=line.record.bytes,
            engines=[_engine(engine) for engine in line.record.engines],
        )
        for line in lines
        if isinstance(line.record, records.Engines)
    )


def keep_checkpoints(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """One row a folder."""
    Checkpoint.objects.bulk_create(
        Checkpoint(
            **_which(attempt, epoch, line), path=line.record.path, bytes=line.record.bytes, sha256=line.record.sha256
        )
        for line in lines
        if isinstance(line.record, records.Checkpoint)
    )


def keep_responses(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """One row an answer; its prompt is shared with every run that was asked the same. Of a step that a resume went over
    again the later evaluation holds."""
    answers = [(line, line.record) for line in lines if isinstance(line.record, records.Response)]
    prompts = prompt_ids(attempt.run_id, [record for _, record in answers])
    Response.objects.bulk_create(
        Response(**_which(attempt, epoch, line), prompt_id=prompt, **_answer(record))
        for (line, record), prompt in zip(answers, prompts, strict=True)
    )
    with connection.cursor() as cursor:
        cursor.execute(SUPERSEDE, [attempt.run_id, sorted({record.step for _, record in answers})])
    note_due(attempt.run_id, [(storable(record.split), record) for _, record in answers])


def _which(attempt: Attempt, epoch: int, line: Line) -> dict[str, Any]:
    step = getattr(line.record, "step", 0)
    return {"run_id": attempt.run_id, "attempt": attempt, "epoch": epoch, "seq": line.seq, "step": step}


def _member(member: Member) -> dict[str, Any]:
    row = {
        "seed": member.seed,
        "reward": number(member.reward),
        "parts": numbers(member.parts),
        "z": number(member.z),
    }
    return row if member.engine is None else row | {"engine": member.engine}


def _engine(engine: Engine) -> dict[str, Any]:
    return asdict(engine) | {"device": storable(engine.device), "weights": storable(engine.weights)}


def _answer(record: records.Response) -> dict[str, Any]:
    return {
        "split": storable(record.split),
        "sample": record.sample,
        "text": storable(record.text),
        "tokens": record.tokens,
        "reward": record.reward,
        "parts": numbers(record.parts),
        "kl": record.kl,
    }


Given = tuple[int, str, float]
"""(primary key of the response, what is scored, such as reward or cost, the score)."""


def keep_scores(scorer: str, given: Iterable[Given]) -> int:
    """Writes the scores, over earlier ones of the same scorer; returns how many. Raises ValueError for what is none."""
    rows = [_row(scorer, *one) for one in given]
    Score.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["scorer", "key", "response"], update_fields=["value", "at"]
    )
    return len(rows)


def _row(scorer: str, response: int, key: str, value: float) -> Score:
    if not math.isfinite(value):
        raise ValueError(f"{scorer} gave the {key} {value}, which is no score")
    return Score(response_id=response, scorer=scorer, key=key, value=value, at=timezone.now())


def note_due(run_id: int, answers: Iterable[tuple[str, records.Response]]) -> None:
    """Says that these answers, each with its split as it is kept, are to be measured. In the transaction that keeps
    them: none is forgotten."""
    come = Counter((split, answer.step) for split, answer in answers)
    columns = zip(*((split, step, n) for (split, step), n in sorted(come.items())), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(DUE, [run_id, *(list(column) for column in columns)])
