"""Find the run that a file belongs to, among the runs of earlier imports.

A file is known if it was imported byte for byte, or if an earlier file of the same job holds all of its records: it is
a copy from before the job had ended. It continues an earlier file of the same job if it begins with the same bytes, or
has all of its records. The same job means the same path, up to the length of the shorter one, or the same method,
config and known seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from django.db.models import Q, QuerySet

from runs import metrics
from runs.importing.hyperparameters import config_of, seed_of
from runs.importing.readers.log_runs import JOB
from runs.importing.records import UNKNOWN_SEED, ImportedRun, ImportReport
from runs.importing.run_names import is_same_path, job_path
from runs.importing.stored_sources import ReadableSource
from runs.ingest.storable import storable
from runs.models import Import, Response, Run
from workers.executors.states import State
from workers.records import Metric, Record
from workers.records import Response as Answer


@dataclass(frozen=True)
class Match:
    """An import that a source belongs to. has_more: the source holds more than was read then."""

    row: Import
    has_more: bool


class KnownRuns:
    """Imports of a target, compared with one source. Raises OSError if the source cannot be read."""

    def __init__(self, source: ReadableSource, imports: QuerySet[Import]) -> None:
        self._source, self._imports = source, imports
        sizes = imports.order_by("bytes").values_list("bytes", flat=True).distinct()
        self.bytes, self.sha256, beginnings = source.digests(sizes)
        alike = imports.filter(sha256__in=[self.sha256, *beginnings.values()]).select_related("run__experiment")
        alike = alike.order_by("-bytes", "pk")
        self._alike = [row for row in alike if row.sha256 == beginnings.get(row.bytes, self.sha256)]

    def find(self, run: ImportedRun) -> Match | None:
        """Return the import that this run of the source belongs to, if there is one.

        Many jobs that failed before training begin and end alike, so those are known by their path as well, and
        nothing continues them.
        """
        alike = [row for row in self._alike if row.part == run.part]
        for row in alike:
            if row.bytes == self.bytes and (JOB not in (row.kind, run.kind) or self._is_same_failure(row, run)):
                return Match(row, has_more=False)
        if run.kind == JOB:
            return None
        for row in alike:
            if row.kind != JOB and self._is_same_job(row, run):
                return Match(row, has_more=True)
        return self._find_by_records(run)

    def _find_by_records(self, run: ImportedRun) -> Match | None:
        rows = list(self._same_job(run))
        if not rows:
            return None
        own, stored = self._contents(run.part), [(row, _stored_contents(row.run)) for row in rows]
        holding = (Match(row, has_more=False) for row, contents in stored if own.is_part_of(contents))
        continued = (Match(row, has_more=True) for row, contents in stored if contents.is_part_of(own))
        return next(holding, None) or next(continued, None)

    def _same_job(self, run: ImportedRun) -> Iterator[Import]:
        """Yield the imports of the same job and kind, those with the most records first."""
        config, seed = config_of(run.stored_method, run.settings), seed_of(run.settings)
        same_recipe = Q(run__seed=seed, run__method=run.stored_method, run__config=config)
        rows = self._imports.filter(self._may_be_same_path(run.kind) | same_recipe, kind=run.kind, part=run.part)
        rows = rows.select_related("run__experiment").order_by("-records", "pk")
        return (row for row in rows if self._is_same_job(row, run))

    def _may_be_same_path(self, kind: str) -> Q:
        """Return a condition that every import of the same path fulfils, so that few other imports are read."""
        name, path = self._source.name, job_path(kind, self._source.name)
        parts = path.split("/")
        if path == name:
            return Q(name__in=["/".join(parts[i:]) for i in range(len(parts))]) | Q(name__endswith=f"/{path}")
        return Q(name__contains=parts[-1]) if path else Q(name=name)

    def _is_same_failure(self, row: Import, run: ImportedRun) -> bool:
        return row.kind == run.kind and is_same_path(row.name, self._source.name)

    def _is_same_job(self, row: Import, run: ImportedRun) -> bool:
        seed = seed_of(run.settings)
        if UNKNOWN_SEED not in (seed, row.run.seed) and seed != row.run.seed:
            return False
        paths = (job_path(row.kind, row.name), job_path(run.kind, self._source.name))
        return is_same_path(*paths) or _is_same_recipe(row.run, run)

    def _contents(self, part: int) -> Contents:
        contents = Contents()
        for entry in self._source.entries(ImportReport()):
            if entry.run.part == part:
                # The final state and its reason are known only after the whole source is read.
                contents.state, contents.reason = entry.run.state, storable(entry.run.reason)
                contents.add(entry.record)
        return contents


@dataclass
class Contents:
    """The contents of a file or a stored run are its values with key and step, its answers, and how it ended."""

    values: Counter[tuple[str, int, bytes]] = field(default_factory=Counter)
    answers: Counter[tuple[object, ...]] = field(default_factory=Counter)
    state: str = ""
    reason: str = ""

    def add(self, record: Record | None) -> None:
        """Count the values of a metric, or an answer."""
        if isinstance(record, Metric):
            self.values.update((key, record.step, _bits(value)) for key, value in record.values.items())
        elif isinstance(record, Answer):
            prompt, text = storable(record.prompt or ""), storable(record.text)
            self.answers[(storable(record.split), record.step, record.sample, prompt, text, record.reward)] += 1

    def is_part_of(self, other: Contents) -> bool:
        """Return whether the other contents include all of these.

        Means over a part of the answers are not those over all, so for a partial run with answers only the answers are
        compared. Without values and answers, the state and its reason are compared.
        """
        if not self.values and not self.answers:
            return bool(self.reason) and (self.state, self.reason) == (other.state, other.reason)
        are_means_partial = self.state == State.PARTIAL and bool(self.answers)
        return self.answers <= other.answers and (are_means_partial or self.values <= other.values)


def _stored_contents(run: Run) -> Contents:
    contents = Contents(state=run.state)
    contents.reason = run.attempts.order_by("n").values_list("reason", flat=True).last() or ""
    for curve in metrics.read([run], metrics.keys(run)):
        steps = curve.x.astype(np.int64).tolist()
        contents.values.update(
            (curve.key, step, _bits(value)) for step, value in zip(steps, curve.y.tolist(), strict=True)
        )
    rows = Response.objects.filter(run=run)
    contents.answers.update(rows.values_list("split", "step", "sample", "prompt__text", "text", "reward").iterator())
    return contents


def _is_same_recipe(run: Run, imported_run: ImportedRun) -> bool:
    config, seed = config_of(imported_run.stored_method, imported_run.settings), seed_of(imported_run.settings)
    return seed != UNKNOWN_SEED and (run.method, run.config, run.seed) == (imported_run.stored_method, config, seed)


def _bits(value: float) -> bytes:
    """Return the float's eight bytes: NaN equals itself there, and 0.0 is not -0.0."""
    return np.float64(value).tobytes()
