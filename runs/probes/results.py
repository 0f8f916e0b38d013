"""Results of probe runs: the newest of each measure, with its values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import F, Func, JSONField, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext

from runs.models import ProbeResult, Run
from workers.records import ProbeValue

BASE = "base"
"""Name of the base model in records."""
READS_RESPONSES = ("curvature",)
"""Probes of one subject: the other is the step whose responses they read."""
WHOLE = '$[*] ? (!exists(@."tensor") && !exists(@."x") && !exists(@."draw"))'
"""JSON path of the values of the whole model."""
ONLY = '$[*] ? (!exists(@."tensor"))'
FIRST_WHOLE = f"""
COALESCE(
    jsonb_path_query_first(%(expressions)s, '{WHOLE}'),
    CASE jsonb_array_length(%(expressions)s) WHEN 1 THEN jsonb_path_query_first(%(expressions)s, '{ONLY}') END
)"""
"""The value of the whole model. A single value may have a position: a barrier is the largest one of a line."""


@dataclass(frozen=True)
class Subject:
    """Weights that a probe examined: a step of a run, or of a folder. run: None if it is not one of this site that the
    reader may see."""

    name: str
    step: str
    run: Run | None = None

    @property
    def method(self) -> str:
        """Return the method of the run; an empty text if it is not known."""
        return self.run.method if self.run else ""

    @property
    def title(self) -> str:
        """Return the name of the run, or else that of the record, such as a folder or a source of responses."""
        if self.name == BASE and not self.step:
            return gettext("base model")
        return self.run.name if self.run else self.name


def newest(runs: Collection[Run]) -> QuerySet[ProbeResult]:
    """Return the results of these runs that count: of a step that was recorded again, only the newest."""
    order = (F("attempt__n").desc(), F("epoch").desc(), F("seq").desc())
    by = (F("run"), F("probe"), F("measure"), F("subject"), F("other"))
    ranked = ProbeResult.objects.filter(run__in=runs).annotate(
        rank=Window(RowNumber(), partition_by=by, order_by=order)
    )
    return ranked.filter(rank=1).order_by("run", "seq")


def with_whole(results: QuerySet[ProbeResult]) -> list[tuple[ProbeResult, ProbeValue | None]]:
    """Return the results without their values, each with that of the whole model, None if it has none."""
    first = Func(F("values"), template=FIRST_WHOLE, output_field=JSONField())
    rows = results.defer("values").annotate(whole=first)
    return [(row, None if row.whole is None else ProbeValue(**row.whole)) for row in rows]


def values_of(result: ProbeResult) -> list[ProbeValue]:
    """Return the values of a result."""
    return [ProbeValue(**fields) for fields in result.values]


def split_subject(text: str) -> tuple[str, str]:
    """Return (name, step) of a subject; the step is empty if it has none."""
    name, at, step = text.rpartition("@")
    return (name, step) if at else (text, "")


def subjects_of(texts: Sequence[str], person: User) -> dict[str, Subject]:
    """Return text -> the subject that it names, with the run if this user may see it. One query."""
    parts = {text: split_subject(text) for text in texts if text}
    uids = {name for name, _step in parts.values()}
    runs = {run.uid: run for run in Run.objects.visible_to(person).filter(uid__in=uids)} if uids else {}
    return {text: Subject(name, step, runs.get(name)) for text, (name, step) in parts.items()}
