"""Probes on the page of a run: the results of a probe run, and the probe runs that examined a training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext

from runs.kinds import PROBE, kind_of
from runs.models import ProbeResult, Run
from runs.probes import (
    READS_RESPONSES,
    Subject,
    band_text,
    marked_value,
    measure_of,
    newest,
    place,
    probe_title,
    split_subject,
    subjects_of,
    with_whole,
)
from runs.tables import NONE, Badge, Cell, Column, Link, Note, Table
from runs.templatetags.format import state_badge
from workers.records import ProbeValue

MAX_ROWS = 200
"""Number of results that the page of a probe run lists."""


def probes_context(run: Run, person: User) -> dict[str, Any]:
    """Return the results of a probe run, or else the probe runs that this user may see that examined the run."""
    if kind_of(run.method).has_probe_results:
        results = sorted(with_whole(newest([run])), key=lambda pair: place(pair[0].probe, pair[0].measure))
        table = _results_table(run, results[:MAX_ROWS], person) if results else None
        return {"probe_results": table, "more_probe_results": max(len(results) - MAX_ROWS, 0)}
    rows = _list_probe_runs(run, person)
    query = urlencode([("run", probe_run.uid) for probe_run, _results in rows])
    return {"probe_runs": _probe_runs_table(run, rows) if rows else None, "probes_query": query}


def _list_probe_runs(run: Run, person: User) -> list[tuple[Run, list[ProbeResult]]]:
    """Return the visible probe runs of this training and of its experiment that examined it, the oldest first, with
    their results."""
    ours = Q(parent=run) | Q(experiment_id=run.experiment_id)
    candidates = list(Run.objects.visible_to(person).of_kind(PROBE).filter(ours).order_by("pk"))
    if not candidates:
        return []
    named = Q(subject__startswith=f"{run.uid}@") | Q(other__startswith=f"{run.uid}@")
    results = list(newest(candidates).filter(named).defer("values"))
    by_run = {probe_run.pk: [r for r in results if r.run_id == probe_run.pk] for probe_run in candidates}
    return [
        (probe_run, by_run[probe_run.pk])
        for probe_run in candidates
        if by_run[probe_run.pk] or probe_run.parent_id == run.pk
    ]


def _probe_runs_table(run: Run, rows: Iterable[tuple[Run, list[ProbeResult]]]) -> Table:
    """Return a row for each probe run: the steps of `run` that it examined, and the probes with results."""
    columns = (
        Column("run", gettext("Run"), Link), Column("state", gettext("State"), Badge),
        Column("steps", gettext("Steps"), str), Column("results", gettext("Results"), str),
    )  # fmt: skip
    return Table(columns, tuple(
        (
            Link(probe_run.name, probe_run.get_absolute_url()), state_badge(probe_run.state),
            ", ".join(_steps(results, run.uid)) or NONE, ", ".join(_probes(results)) or NONE,
        )
        for probe_run, results in rows
    ))  # fmt: skip


def _results_table(run: Run, results: Sequence[tuple[ProbeResult, ProbeValue | None]], person: User) -> Table:
    """Return a row for each result of the probe run, with its value for the whole model if it has one."""
    subjects = subjects_of([text for result, _whole in results for text in (result.subject, result.other)], person)
    columns = (
        Column("probe", gettext("Probe"), str), Column("measure", gettext("Measure"), Link, is_row_head=True),
        Column("examined", gettext("Examined"), str), Column("whole", gettext("Whole model")),
        Column("band", gettext("Band by chance")), Column("n"), Column("verdict", gettext("Verdict"), str),
    )  # fmt: skip
    page = f"{reverse('probes', args=[run.experiment_id])}?run={run.uid}&"
    rows = []
    for result, whole in results:
        measure = measure_of(result.probe, result.measure)
        numbers = (marked_value(whole), band_text(whole), whole.n) if whole else (None, None, None)
        rows.append((
            probe_title(result.probe), Link(measure.title, page + urlencode({"measure": measure.value})),
            _subjects_cell([subjects[text] for text in _examined(result)]), *numbers, result.verdict or NONE,
        ))  # fmt: skip
    return Table(columns, tuple(rows))


def _subjects_cell(subjects: Iterable[Subject]) -> tuple[Cell, ...]:
    """Return the names of what was examined, with their steps."""
    parts: list[Cell] = []
    for subject in subjects:
        parts += ["×"] if parts else []
        parts.append(Link(subject.title, subject.run.get_absolute_url()) if subject.run else subject.title)
        parts += [Note(gettext("step %(step)s") % {"step": subject.step})] if subject.step else []
    return tuple(parts)


def _examined(result: ProbeResult) -> list[str]:
    """Return the subject, and the one that it is compared with."""
    is_pair = result.other and result.probe not in READS_RESPONSES
    return [result.subject, result.other] if is_pair else [result.subject]


def _steps(results: Iterable[ProbeResult], uid: str) -> list[str]:
    parts = [split_subject(text) for result in results for text in (result.subject, result.other)]
    return sorted({step for name, step in parts if name == uid}, key=lambda step: (len(step), step))


def _probes(results: Iterable[ProbeResult]) -> list[str]:
    probes = sorted({result.probe for result in results}, key=lambda probe: place(probe, ""))
    return [probe_title(probe) for probe in probes]
