"""Find the run that a file belongs to, among those that earlier imports made.

A file is known if it is here byte for byte, or if an earlier file of the same job holds all that it says: a copy that
was made before the job had ended. It continues an earlier file of the same job whose bytes it begins with. The same
job means the same path, as far as both paths tell, or the same method, config and known seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from django.db.models import Q, QuerySet

from runs import series
from runs.importing.found import UNKNOWN_SEED, Entry, Found, Told
from runs.importing.hyperparameters import config_of, seed_of
from runs.importing.log import JOB
from runs.importing.naming import is_same_path, job_path
from runs.importing.reading import Source, digests
from runs.ingest.texts import storable
from runs.models import Import, Response, Run
from workers.executors.states import State
from workers.records import Metric, Record
from workers.records import Response as Answer


class KnownRuns:
    """The imports of a place, as one source sees them. Raises OSError if the source cannot be read."""

    def __init__(self, source: Source, imports: QuerySet[Import]) -> None:
        self._source, self._imports = source, imports
        sizes = imports.order_by("bytes").values_list("bytes", flat=True).distinct()
        self.bytes, self.sha256, beginnings = digests(source, sizes)
        alike = imports.filter(sha256__in=[self.sha256, *beginnings.values()]).select_related("run__experiment")
        alike = alike.order_by("-bytes", "pk")
        self._alike = [row for row in alike if row.sha256 == beginnings.get(row.bytes, self.sha256)]

    def known(self, found: Found) -> Import | None:
        """Return the import that holds all that the source says of this run; None if it says anything new.

        Many jobs that failed before training begin and end alike, so that those are known by their path as well, and
        no other file holds one of them.
        """
        for row in self._alike:
            is_whole = row.part == found.part and row.sha256 == self.sha256 and row.bytes == self.bytes
            if is_whole and (JOB not in (row.kind, found.kind) or self._is_same_failure(row, found)):
                return row
        if found.kind == JOB:
            return None
        return next((row for row in self._same_job(found) if self._holds(row, found)), None)

    def continued(self, found: Found) -> Import | None:
        """Return the longest import of the same job whose bytes this source begins with, if there is one."""
        for row in self._alike:
            if row.part == found.part and JOB not in (row.kind, found.kind) and self._is_same_job(row, found):
                return row
        return None

    def _is_same_failure(self, row: Import, found: Found) -> bool:
        return row.kind == found.kind and is_same_path(row.name, self._source.name)

    def _is_same_job(self, row: Import, found: Found) -> bool:
        seed = seed_of(found.settings)
        if UNKNOWN_SEED not in (seed, row.run.seed) and seed != row.run.seed:
            return False
        paths = (job_path(row.kind, row.name), job_path(found.kind, self._source.name))
        return is_same_path(*paths) or _is_same_recipe(row.run, found)

    def _same_job(self, found: Found) -> Iterator[Import]:
        folder_or_file = job_path(found.kind, self._source.name).rpartition("/")[2]
        same_path = Q(name__contains=folder_or_file) if folder_or_file else Q(name=self._source.name)
        same_recipe = Q(run__seed=seed_of(found.settings), run__method=found.stored_method)
        rows = self._imports.filter(same_path | same_recipe, kind=found.kind, part=found.part).select_related(
            "run__experiment"
        )
        return (row for row in rows.order_by("-records", "pk") if self._is_same_job(row, found))

    def _holds(self, row: Import, found: Found) -> bool:
        """Return whether the run of an import has every record that the source holds of this one.

        The means of a part of the answers are not those of all: of a partial run only the answers count. A file that
        says that its run ended well is no copy from before the end, so it must hold as many records.
        """
        values, answers, count = Counter[tuple[str, int, bytes]](), Counter[tuple[object, ...]](), 0
        for entry in self._entries(found.part):
            # How it ended is known once all of it is read.
            found = entry.found
            if entry.record is not None:
                values.update(_values(entry.record))
                answers.update(_answer(entry.record))
                count += 1
            if count > row.records and found.state != State.PARTIAL:
                return False
        if not count:
            # Nothing was measured: the reason is all that a failed evaluation says.
            reasons = row.run.attempts.values_list("reason", flat=True)
            return bool(found.reason) and row.run.state == found.state and storable(found.reason) in reasons
        if (found.state == State.SUCCEEDED and count < row.records) or not answers <= _stored_answers(row.run):
            return False
        return values <= _stored_values(row.run) if found.state != State.PARTIAL else bool(answers)

    def _entries(self, part: int) -> Iterator[Entry]:
        entries = self._source.entries(Told(), lambda *_: [])
        return (entry for entry in entries if entry.found.part == part)


def _is_same_recipe(run: Run, found: Found) -> bool:
    config, seed = config_of(found.stored_method, found.settings), seed_of(found.settings)
    return seed != UNKNOWN_SEED and (run.method, run.config, run.seed) == (found.stored_method, config, seed)


def _values(record: Record) -> list[tuple[str, int, bytes]]:
    if not isinstance(record, Metric):
        return []
    return [(key, record.step, _bits(value)) for key, value in record.values.items()]


def _answer(record: Record) -> list[tuple[object, ...]]:
    if not isinstance(record, Answer):
        return []
    text = storable(record.text)
    return [(storable(record.split), record.step, record.sample, storable(record.prompt or ""), text, record.reward)]


def _stored_values(run: Run) -> Counter[tuple[str, int, bytes]]:
    stored = Counter[tuple[str, int, bytes]]()
    for curve in series.read([run], series.keys(run)):
        steps = curve.x.astype(np.int64).tolist()
        stored.update((curve.key, step, _bits(value)) for step, value in zip(steps, curve.y.tolist(), strict=True))
    return stored


def _stored_answers(run: Run) -> Counter[tuple[object, ...]]:
    rows = Response.objects.filter(run=run)
    return Counter(rows.values_list("split", "step", "sample", "prompt__text", "text", "reward").iterator())


def _bits(value: float) -> bytes:
    """Return the float's eight bytes: NaN equals itself there, and 0.0 is not -0.0."""
    return np.float64(value).tobytes()
