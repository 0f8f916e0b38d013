"""Probes on the page of a run: the results of a probe run, and the probe runs that examined a training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Q

from runs.models import PROBE, ProbeResult, Run
from runs.probes import (
    READS_RESPONSES,
    ProbeMeasure,
    Subject,
    is_outside,
    measure_of,
    newest,
    place,
    probe_title,
    split_subject,
    subjects_of,
    with_whole,
)
from workers.records import ProbeValue

MAX_ROWS = 200
"""Number of results that the page of a probe run lists."""


@dataclass(frozen=True)
class ResultRow:
    """A result of a probe run. whole: the value of the whole model, None if it has none."""

    measure: ProbeMeasure
    subjects: list[Subject]
    whole: ProbeValue | None
    verdict: str

    @property
    def probe(self) -> str:
        return probe_title(self.measure.probe)

    @property
    def is_outside(self) -> bool:
        """Return whether the value of the whole model is outside of its band by chance."""
        return self.whole is not None and is_outside(self.whole)

    @property
    def query(self) -> str:
        """Return the parameter that selects this measure on the page of probes."""
        return urlencode({"measure": self.measure.value})


@dataclass(frozen=True)
class ProbeRunRow:
    """A probe run that examined a training: the steps, and the probes with results."""

    run: Run
    steps: list[str]
    probes: list[str]


def probes_context(run: Run, person: User) -> dict[str, Any]:
    """Return the results of a probe run, or else the probe runs that this user may see that examined the run."""
    if run.method == PROBE:
        results = _result_rows(with_whole(newest([run])), person)
        return {"probe_results": results[:MAX_ROWS], "more_probe_results": max(len(results) - MAX_ROWS, 0)}
    rows = list_probe_runs(run, person)
    return {"probe_runs": rows, "probes_query": urlencode([("run", row.run.uid) for row in rows])}


def list_probe_runs(run: Run, person: User) -> list[ProbeRunRow]:
    """Return the visible probe runs of this training and of its experiment that examined it, the oldest first."""
    ours = Q(parent=run) | Q(experiment_id=run.experiment_id)
    candidates = list(Run.objects.visible_to(person).filter(ours, method=PROBE).order_by("pk"))
    if not candidates:
        return []
    named = Q(subject__startswith=f"{run.uid}@") | Q(other__startswith=f"{run.uid}@")
    results = list(newest(candidates).filter(named).defer("values"))
    by_run = {probe_run.pk: [r for r in results if r.run_id == probe_run.pk] for probe_run in candidates}
    return [
        ProbeRunRow(probe_run, _steps(by_run[probe_run.pk], run.uid), _probes(by_run[probe_run.pk]))
        for probe_run in candidates
        if by_run[probe_run.pk] or probe_run.parent_id == run.pk
    ]


def _result_rows(results: Iterable[tuple[ProbeResult, ProbeValue | None]], person: User) -> list[ResultRow]:
    ordered = sorted(results, key=lambda pair: place(pair[0].probe, pair[0].measure))
    subjects = subjects_of([text for result, _whole in ordered for text in (result.subject, result.other)], person)
    return [
        ResultRow(
            measure_of(result.probe, result.measure),
            [subjects[text] for text in _examined(result)],
            whole,
            result.verdict,
        )
        for result, whole in ordered
    ]


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
