"""Populations, engines, results of probes, responses and checkpoints -> rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from django.db import connection
from django.utils import timezone

from runs.ingest.prompts import StoredPrompt, store_prompts
from runs.ingest.response_tasks import TaskNames
from runs.ingest.storable import number, numbers, storable
from runs.models import (
    RUN_FOLDER,
    Attempt,
    Checkpoint,
    EngineReport,
    Population,
    ProbeResult,
    Response,
    Score,
    mark_flag_checks_due,
)
from workers import records
from workers.analysis.right import right_of
from workers.records import Engine, Line, Member, ProbeValue

DUE = """
INSERT INTO runs_collapse (run_id, split, step, arrived, measured)
SELECT %s, split, step, n, 0 FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS come (split, step, n)
ON CONFLICT (run_id, split, step) DO UPDATE SET arrived = runs_collapse.arrived + excluded.arrived
"""
SUPERSEDE = f"""
UPDATE runs_response SET is_superseded = true WHERE id = ANY(ARRAY(
    SELECT ranked.id FROM (
        SELECT r.id, row_number() OVER (
            PARTITION BY split, step, prompt_id, sample ORDER BY a.n DESC, epoch DESC, seq DESC
        ) AS place, rank() OVER (
            PARTITION BY split, step ORDER BY a.n DESC, epoch DESC
        ) AS evaluation, a.cluster_id IS NOT NULL OR i.kind = '{RUN_FOLDER}' AS is_native
        FROM runs_response r JOIN runs_attempt a ON a.id = r.attempt_id LEFT JOIN runs_import i ON i.run_id = r.run_id
        WHERE r.run_id = %s AND step = ANY(%s) AND NOT is_superseded
    ) AS ranked
    WHERE place > 1 OR is_native AND evaluation > 1
))
"""  # noqa: S608  (the kind is a constant)
"""Mark superseded answers. A run that evaluates a step again after a resume replaces the whole evaluation with its
first answer, so that answers of two trainings are never mixed.

The array is built once. With a join, the database would rank all answers again for each of them if its statistics say
that the table is empty, as for a new table: a first import of 3000 answers then takes minutes."""


def save_populations(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store one row per iteration."""
    Population.objects.bulk_create(
        Population(**_row_key(attempt, epoch, line), members=[_member(m) for m in line.record.members])
        for line in lines
        if isinstance(line.record, records.Population)
    )


def save_engines(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store one row per report."""
    EngineReport.objects.bulk_create(
        EngineReport(
            **_row_key(attempt, epoch, line),
            t=line.t,
            bytes=line.record.bytes,
            engines=[_engine(engine) for engine in line.record.engines],
        )
        for line in lines
        if isinstance(line.record, records.Engines)
    )


def save_checkpoints(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store one row per checkpoint folder."""
    Checkpoint.objects.bulk_create(
        Checkpoint(
            **_row_key(attempt, epoch, line), path=line.record.path, bytes=line.record.bytes, sha256=line.record.sha256
        )
        for line in lines
        if isinstance(line.record, records.Checkpoint)
    )


def save_probes(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store one row per result."""
    ProbeResult.objects.bulk_create(
        ProbeResult(
            run_id=attempt.run_id, attempt=attempt, epoch=epoch, seq=line.seq, step=line.record.step,
            probe=line.record.probe, measure=line.record.measure, subject=line.record.subject, other=line.record.other,
            verdict=line.record.verdict, values=[_present_fields(value) for value in line.record.values],
        )
        for line in lines
        if isinstance(line.record, records.Probe)
    )  # fmt: skip


def save_responses(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store one row per answer; its prompt is shared with all runs that use it. For a step that a resume evaluates
    again, the later evaluation applies."""
    answers = [(line, line.record) for line in lines if isinstance(line.record, records.Response)]
    prompts = store_prompts(attempt.run_id, [record for _, record in answers])
    tasks = TaskNames(attempt.run.config)
    Response.objects.bulk_create(
        Response(**_row_key(attempt, epoch, line), prompt_id=prompt.id, **_answer(record, prompt, tasks))
        for (line, record), prompt in zip(answers, prompts, strict=True)
    )
    with connection.cursor() as cursor:
        cursor.execute(SUPERSEDE, [attempt.run_id, sorted({record.step for _, record in answers})])
    queue_collapse(attempt.run_id, [(storable(record.split), record) for _, record in answers])
    mark_flag_checks_due([attempt.run_id])


def _row_key(attempt: Attempt, epoch: int, line: Line) -> dict[str, Any]:
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
    return asdict(engine) | {name: storable(getattr(engine, name)) for name in ("device", "weights", "node")}


def _answer(record: records.Response, prompt: StoredPrompt, tasks: TaskNames) -> dict[str, Any]:
    _, text, target = prompt.question
    task = tasks.of_prompt(record.categories)
    return {
        "split": storable(record.split),
        "sample": record.sample,
        "text": storable(record.text),
        "tokens": record.tokens,
        "reward": record.reward,
        "parts": numbers(record.parts),
        "kl": record.kl,
        "is_right": right_of(task, record.parts, record.text, target, text),
    }


GivenScore = tuple[int, str, float]
"""(primary key of the response, key of the score such as reward or cost, value)."""


def save_scores(scorer: str, scores: Iterable[GivenScore]) -> int:
    """Save the scores, replacing earlier ones of the scorer. Return their number. Raise ValueError for a non-finite
    score."""
    rows = [_row(scorer, *score) for score in scores]
    Score.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["scorer", "key", "response"], update_fields=["value", "at"]
    )
    scored = Response.objects.filter(pk__in={row.response_id for row in rows}).order_by().values_list("run", flat=True)
    mark_flag_checks_due(scored.distinct())
    return len(rows)


def _row(scorer: str, response: int, key: str, value: float) -> Score:
    if not math.isfinite(value):
        raise ValueError(f"{scorer} returned the {key} {value}, which is not a valid score")
    return Score(response_id=response, scorer=scorer, key=key, value=value, at=timezone.now())


def queue_collapse(run_id: int, answers: Iterable[tuple[str, records.Response]]) -> None:
    """Mark these answers, given as (stored split, record), to be measured for collapse. Call it in the transaction that
    stores them, so that none is omitted."""
    counts = Counter((split, answer.step) for split, answer in answers)
    columns = zip(*((split, step, n) for (split, step), n in sorted(counts.items())), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(DUE, [run_id, *(list(column) for column in columns)])


def _present_fields(value: ProbeValue) -> dict[str, Any]:
    return {name: field for name, field in vars(value).items() if field is not None and field != ""}
