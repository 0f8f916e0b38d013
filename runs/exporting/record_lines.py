"""Records of an attempt from its rows, as lines of `records.<epoch>.jsonl`, for attempts without files of their own.

Rows hold each number with all its bits, but not each line of the file: of the statuses only the last, alerts only as
events of the attempt, and times only of metrics and engines. So `seq` counts the written lines, and the `t` of other
records is that of the metric before them. The order of the records is that in which they were written.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeVar

from django.db import connection, models

from runs.metrics.record_stream import metric_records
from runs.models import (
    Attempt,
    Checkpoint,
    EngineReport,
    PackageSet,
    Population,
    ProbeResult,
    Response,
    RewardAttack,
)
from runs.models.response import Recorded
from workers.records import Record, Status, pack, unpack

ROWS_PER_QUERY = 500
RESPONSE = 3
"""Rank of responses among the records at the same place."""
RECORDED: tuple[type[Recorded], ...] = (
    Population, EngineReport, Response, Checkpoint, ProbeResult, RewardAttack,
)  # fmt: skip
RowT = TypeVar("RowT", bound=Recorded)
Placed = tuple[int, int, float | None, Record]
"""(seq or the number of the metric, rank of the kind, Unix time if it is known, record)."""


def record_lines(
    attempt: Attempt, epoch: int, response_seqs: dict[int, int] | None, *, is_last_epoch: bool
) -> Iterator[bytes]:
    """Yield the lines of an epoch.

    response_seqs: if given, it is filled with the written seq of each response by its stored one.
    """
    began = attempt.started_at or attempt.created_at
    t = first_time(attempt, epoch, began.timestamp())
    seq = 0
    for record in _start(attempt, epoch):
        yield pack(seq, t, record)
        seq += 1
    for stored, rank, time, record in heapq.merge(*_streams(attempt, epoch), key=lambda placed: placed[:2]):
        t = t if time is None else time
        if response_seqs is not None and rank == RESPONSE:
            response_seqs[stored] = seq
        yield pack(seq, t, record)
        seq += 1
    if is_last_epoch and (attempt.phase or attempt.phase_message):
        yield pack(seq, t, _status(attempt))


def status_line(attempt: Attempt) -> bytes:
    """Return the records of an attempt that has none: its status, by whose time an import knows the attempt again."""
    return pack(0, attempt.created_at.timestamp(), _status(attempt))


def _status(attempt: Attempt) -> Record:
    return Status(attempt.phase, attempt.phase_message, attempt.progress)


def stored_epochs(attempt: Attempt) -> list[int]:
    """Return the epochs of an attempt of which the database has anything, in their order."""
    epochs = set(attempt.record_files.values_list("epoch", flat=True))
    for model in RECORDED:
        rows = model._default_manager.filter(attempt=attempt).order_by()
        epochs.update(rows.values_list("epoch", flat=True).distinct())
    return sorted(epochs)


def first_time(attempt: Attempt, epoch: int, default: float) -> float:
    """Return the time of the first metric of an epoch, so that no record before it seems later."""
    return next((t for _, t, _ in metric_records(attempt.pk, epoch)), default)


def _start(attempt: Attempt, epoch: int) -> Iterator[Record]:
    """Yield the environment, if it is of this epoch."""
    environment = dict(attempt.environment or {})
    if not environment or environment.pop("epoch", 0) != epoch:
        return
    packages = PackageSet.objects.filter(pk=environment.pop("packages", "")).values_list("versions", flat=True)
    yield _record("environment", {**environment, "packages": packages.first() or {}})


def _streams(attempt: Attempt, epoch: int) -> Iterator[Iterator[Placed]]:
    yield ((number, 0, t, metric) for number, t, metric in metric_records(attempt.pk, epoch))
    yield _rows(Population, attempt, epoch, 1, lambda row: ("population", {"members": row.members}))
    yield _engines(attempt, epoch)
    yield _responses(attempt, epoch)
    yield _rows(Checkpoint, attempt, epoch, 4, lambda row: (
        "checkpoint", {"path": row.path, "bytes": row.bytes, "sha256": row.sha256}))  # fmt: skip
    yield _rows(ProbeResult, attempt, epoch, 5, lambda row: (
        "probe", {name: getattr(row, name) for name in ("probe", "measure", "subject", "other", "verdict", "values")}
    ))  # fmt: skip
    yield _rows(RewardAttack, attempt, epoch, 6, lambda row: ("attack", {
        "attack": row.name, "needs": row.needs, "verdict": row.verdict, "response": row.response,
        "failure": row.failure, **row.values, "examples": row.examples,
    }))  # fmt: skip


def _rows(model: type[RowT], attempt: Attempt, epoch: int, rank: int, body: Any) -> Iterator[Placed]:
    for row in pages(model, attempt, epoch):
        kind, values = body(row)
        yield row.seq, rank, None, _record(kind, {"step": row.step, **values})


def _engines(attempt: Attempt, epoch: int) -> Iterator[Placed]:
    for row in pages(EngineReport, attempt, epoch):
        record = _record("engines", {"step": row.step, "bytes": row.bytes, "engines": row.engines})
        yield row.seq, 2, row.t, record


def _responses(attempt: Attempt, epoch: int) -> Iterator[Placed]:
    """Yield the responses. A prompt's text is given with its first response; with each, if two prompts share a name."""
    prompts = Response.objects.filter(attempt=attempt, epoch=epoch).order_by().values_list("prompt", "prompt__name")
    names = Counter(name for _, name in prompts.distinct())
    ambiguous = {name for name, count in names.items() if count > 1}
    stated = set[str]()
    for row in pages(Response, attempt, epoch, "prompt"):
        prompt, body = row.prompt, _response(row)
        if prompt.name in ambiguous or prompt.name not in stated:
            stated.add(prompt.name)
            body |= {"prompt": prompt.text, "target": prompt.target, "categories": prompt.categories}
        yield row.seq, RESPONSE, None, _record("response", body)


def _response(row: Response) -> dict[str, Any]:
    return {
        "step": row.step, "split": row.split, "prompt_id": row.prompt.name, "sample": row.sample, "text": row.text,
        "tokens": row.tokens, "reward": row.reward, "parts": row.parts, "kl": row.kl,
    }  # fmt: skip


def pages(model: type[RowT], attempt: Attempt, epoch: int, *related: str) -> Iterator[RowT]:
    """Yield an epoch's rows by seq, a page per query, so that no connection is occupied while a client reads."""
    last = -1
    rows: models.QuerySet[RowT] = model._default_manager.filter(attempt=attempt, epoch=epoch).order_by("seq")
    rows = rows.select_related(*related) if related else rows
    while page := list(rows.filter(seq__gt=last)[:ROWS_PER_QUERY]):
        if not connection.in_atomic_block:
            connection.close()
        yield from page
        last = page[-1].seq


def _record(kind: str, body: dict[str, Any]) -> Record:
    """Return a record from its stored fields. Raise BadLine if they are none."""
    return unpack({"seq": 0, "t": 0.0, "kind": kind, **body}).record
