"""What writers write to, made and read by a process of its own on a site's data: python -m tests.flows.writer_site …

make RUNS             runs that take records; prints [attempt's key, token] of each
look FIRST BATCHES…   compares what is stored of the runs from number FIRST on with what was sent; prints what is untrue
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import django
import numpy as np

django.setup()

from django.contrib.auth.models import User  # noqa: E402  (models exist only once Django is set up)

from runs import access  # noqa: E402
from runs.ingest import tasks  # noqa: E402
from runs.metrics.segments import written  # noqa: E402
from runs.models import Attempt, Cluster, Experiment, RecordFile, Run, Series  # noqa: E402
from tests.flows.pushed_points import KEYS, RECORDS, steps_of, values_of  # noqa: E402


def make(count: int) -> list[tuple[str, str]]:
    """Runs that have ended, as far as the site knows, so that whatever they are sent late is compacted at once."""
    ada = User.objects.get_or_create(username="ada")[0]
    experiment = Experiment.objects.get_or_create(name="Writers", owner=ada)[0]
    return [_writable(experiment, number) for number in range(count)]


def _writable(experiment: Experiment, number: int) -> tuple[str, str]:
    config = {"method": "es", "seed": number}
    run = Run.objects.create(
        experiment=experiment, name=f"es {number}", method="es", seed=number, config=config, state="succeeded",
        created_by=experiment.owner,
    )  # fmt: skip
    key = f"esweb-{run.uid}-a1"
    Attempt.objects.create(run=run, n=1, key=key, cluster=Cluster.objects.get(name="local"), state="succeeded")
    return key, access.issue(experiment.owner, "ingest", run=run)[1]


def look(first: int, batches: list[int]) -> list[str]:
    """Every point of these runs: which are missing, twice, or others than were sent."""
    found = _all_untruths(first, batches)
    tasks.compact_series()
    return found + _all_untruths(first, batches)


def _all_untruths(first: int, batches: list[int]) -> list[str]:
    runs = Run.objects.order_by("pk").values_list("pk", flat=True)[first:]
    numbered = enumerate(zip(runs, batches, strict=True), first)
    return [words for number, (pk, count) in numbered for words in _untruths(number, pk, count)]


def _untruths(number: int, run_id: int, batches: int) -> Iterator[str]:
    count = batches * RECORDS
    sent = np.concatenate([values_of(number, batch) for batch in range(batches)])
    kept = dict(written([run_id], KEYS))[run_id]
    for column, key in enumerate(KEYS):
        points = kept[key]
        if not np.array_equal(points.records, np.arange(count)):
            yield f"run {number} {key}: {len(points)} points are kept, and {count} were sent"
        elif not np.array_equal(points.steps, steps_of(0, count)) or not np.array_equal(points.values, sent[:, column]):
            yield f"run {number} {key}: not the points that were sent"
    if (said := RecordFile.objects.get(attempt__run=run_id).next_seq) != count:
        yield f"run {number}: seq {said} would be next, after {count}"
    for key, points, low, high in Series.objects.filter(run=run_id).values_list(
        "key", "points", "min_value", "max_value"
    ):
        own = sent[:, KEYS.index(key)]
        if (points, low, high) != (count, own.min(), own.max()):
            yield f"run {number} {key}: its summary says {points} points from {low} to {high}"


if __name__ == "__main__":
    word, first, *batches = sys.argv[1:]
    print(json.dumps(make(int(first)) if word == "make" else look(int(first), [int(count) for count in batches])))
