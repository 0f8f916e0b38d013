"""All that the database holds of a run, as plain data that two databases, or two runs of one, can be compared by.

Every table that refers to a run or an attempt is read, with every field but ids, uids, creation times and owners, so
that a table or a field that is added later is compared too. Series are compared point by point, with all their bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from django.apps import apps
from django.db import models

from runs import metrics
from runs.metrics.record_stream import metric_records
from runs.models import Attempt, Flag, PackageSet, Run

IDENTITY = {
    "id", "pk", "uid", "run", "attempt", "experiment", "created_at", "created_by", "owner", "at", "detected_at",
    "seq", "cluster", "sweep", "parent", "client_id", "by", "asked_by",
}  # fmt: skip
"""Fields that differ between equal rows: a copy has ids, a uid and an owner of its own, and runs on no cluster."""
STORAGE = {
    "Batch", "Chunk", "DiskUse", "RecordFile", "FlagCheck", "Collapse", "ApiToken", "Rebuild", "Import", "Flag",
    "Score", "Scoring",
}  # fmt: skip
"""Tables that store the same points in other pieces, derive measures from other rows, or belong to one site."""
MAX_DIFFERENCES = 8
ARRIVAL = "imported from"
"""Beginning of the event that an import adds to an attempt."""
ELSEWHERE = {
    "heartbeat", "heartbeat_seen_at", "submits", "submit_started_at", "drained_at", "final_since_at", "gone_since_at",
    "stuck_since_at", "restart_at", "hold", "moves_to", "moves_held", "cancel_requested_at", "origin",
}  # fmt: skip
"""Fields about the scheduling of an attempt, which a copy has not."""


DERIVED = {"last_step"}
"""Fields that a job computes later."""


def rows_of(run: Run) -> dict[str, list[Any]]:
    """Return table name -> its rows of the run, in an order that does not depend on ids."""
    run = Run.objects.get(pk=run.pk)
    tables: dict[str, list[Any]] = {"Run": [_values(run)], "points": _points(run), "provenance": _provenance(run)}
    for model in apps.get_app_config("runs").get_models():
        name = model.__name__
        if name in STORAGE or name == "Run":
            continue
        if any(field.name == "attempt" for field in model._meta.fields):
            tables[name] = _ordered(model._default_manager.filter(attempt__run=run))
        elif any(field.name == "run" and field.related_model is Run for field in model._meta.fields):
            tables[name] = _ordered(model._default_manager.filter(run=run))
    tables["AttemptEvent"] = [row for row in tables["AttemptEvent"] if not row["why"].startswith(ARRIVAL)]
    scores = apps.get_model("runs", "Score").objects.filter(response__run=run)
    tables["Score"] = sorted(
        map(repr, scores.values_list("response__step", "response__prompt__name", "response__sample", "scorer", "key",
                                     "value"))
    )  # fmt: skip
    tables["Flag"] = sorted(
        map(repr, Flag.objects.filter(run=run).values_list("detector", "step", "value", "limit", "p"))
    )
    return tables


def different_tables(run: Run, copy: Run) -> dict[str, list[str]]:
    """Return table name -> its first differences, for tables that differ."""
    one, other = rows_of(run), rows_of(copy)
    return {name: _differences(one[name], other[name]) for name in one if one[name] != other[name]}


def _differences(one: list[Any], other: list[Any]) -> list[str]:
    different = [f"{len(one)} rows, the copy has {len(other)}"] if len(one) != len(other) else []
    for row, copied in zip(one, other, strict=False):
        if isinstance(row, dict) and row != copied:
            different += [
                f"{name}: {row[name]!r}, not {copied[name]!r}"[:300] for name in row if row[name] != copied[name]
            ]
        elif row != copied:
            different.append(f"{row!r}, not {copied!r}"[:300])
    return different[:MAX_DIFFERENCES]


def _ordered(rows: models.QuerySet[Any]) -> list[Any]:
    fields = {field.name for field in rows.model._meta.fields}
    order = [name for name in ("attempt__n", "epoch", "seq", "n", "key", "id") if name.partition("__")[0] in fields]
    return [_values(row) for row in rows.order_by(*order)]


def _values(row: models.Model) -> dict[str, Any]:
    """Return the fields of a row. Rows of people and prompts are named by what identifies them everywhere."""
    values: dict[str, Any] = {}
    for field in row._meta.fields:
        is_key_of_attempt = field.name == "key" and isinstance(row, Attempt)
        if field.name in IDENTITY or field.name in ELSEWHERE or field.name in DERIVED or is_key_of_attempt:
            continue
        value = getattr(row, field.attname)
        if field.name == "prompt":
            prompt = row.prompt  # type: ignore[attr-defined]
            value = (prompt.name, prompt.text, prompt.target, prompt.categories)
        values[field.name] = "nan" if isinstance(value, float) and np.isnan(value) else value
    if isinstance(row, Attempt) and row.environment:
        packages = PackageSet.objects.get(pk=row.environment["packages"]).versions
        values["environment"] = {**row.environment, "packages": packages}
    if hasattr(row, "attempt"):
        values["attempt"] = row.attempt.n
    return values


def _points(run: Run) -> list[Any]:
    return [
        (attempt.n, epoch, t, record.step, _bits(record.values), _bits(record.axes))
        for attempt in run.attempts.order_by("n")
        for epoch in attempt.record_files.order_by("epoch").values_list("epoch", flat=True)
        for _, t, record in metric_records(attempt.pk, epoch)
    ]


def _bits(values: dict[str, float]) -> Iterable[tuple[str, bytes]]:
    return sorted((key, np.float64(value).tobytes()) for key, value in values.items())


def _provenance(run: Run) -> list[Any]:
    origins = metrics.origins_of([run])
    return [(key, way.to_json()) for (_, key), way in sorted(
        metrics.provenances([run], metrics.keys(run), origins).items(), key=lambda item: item[0][1])]  # fmt: skip
