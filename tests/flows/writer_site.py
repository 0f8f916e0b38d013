"""Create and check runs for writers, in a separate process on a site's data: python -m tests.flows.writer_site …

make RUNS             create runs that take records; print [attempt's key, token] of each
sessions USERS        create users who see every run; print the session key of each
look FIRST BATCHES…   compare the stored points of the runs from number FIRST on with the sent ones; print differences
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import django
import numpy as np

django.setup()

from django.contrib.auth.models import User  # noqa: E402  (models exist only once Django is set up)
from django.test import Client  # noqa: E402

from runs import access  # noqa: E402
from runs.ingest import tasks  # noqa: E402
from runs.metrics.segments import read_points  # noqa: E402
from runs.models import Attempt, Cluster, Experiment, RecordFile, Run, Series  # noqa: E402
from tests.flows.pushed_points import EXPERIMENT_NAME, KEYS, RECORDS, make_steps, make_values  # noqa: E402


def make_runs(count: int) -> list[tuple[str, str]]:
    """Create runs that have finished, as far as the site knows, so that records sent late are compacted immediately."""
    ada = User.objects.get_or_create(username="ada")[0]
    experiment = Experiment.objects.get_or_create(name=EXPERIMENT_NAME, owner=ada)[0]
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


def open_sessions(users: int) -> list[str | None]:
    """Create administrators, each with a session, and return the session keys."""
    keys = []
    for number in range(users):
        client = Client()
        client.force_login(User.objects.create_superuser(f"watcher {number}"))
        keys.append(client.session.session_key)
    return keys


def find_differences(first: int, batches: list[int]) -> list[str]:
    """Return a sentence for each key of these runs whose points are missing, duplicate or not the sent ones."""
    differences = _all_differences(first, batches)
    tasks.compact_series()
    return differences + _all_differences(first, batches)


def _all_differences(first: int, batches: list[int]) -> list[str]:
    runs = Run.objects.order_by("pk").values_list("pk", flat=True)[first:]
    numbered = enumerate(zip(runs, batches, strict=True), first)
    return [difference for number, (pk, count) in numbered for difference in _run_differences(number, pk, count)]


def _run_differences(number: int, run_id: int, batches: int) -> Iterator[str]:
    count = batches * RECORDS
    sent = np.concatenate([make_values(number, batch) for batch in range(batches)])
    stored = dict(read_points([run_id], KEYS))[run_id]
    for column, key in enumerate(KEYS):
        points = stored[key]
        if not np.array_equal(points.records, np.arange(count)):
            yield f"run {number} {key}: {len(points)} points are kept, and {count} were sent"
        elif not np.array_equal(points.steps, make_steps(0, count)) or not np.array_equal(
            points.values, sent[:, column]
        ):
            yield f"run {number} {key}: not the points that were sent"
    if (next_seq := RecordFile.objects.get(attempt__run=run_id).next_seq) != count:
        yield f"run {number}: seq {next_seq} would be next, after {count}"
    for key, points, low, high in Series.objects.filter(run=run_id).values_list(
        "key", "points", "min_value", "max_value"
    ):
        expected = sent[:, KEYS.index(key)]
        if (points, low, high) != (count, expected.min(), expected.max()):
            yield f"run {number} {key}: its summary says {points} points from {low} to {high}"


if __name__ == "__main__":
    command, first, *batches = sys.argv[1:]
    if command == "make":
        result: object = make_runs(int(first))
    elif command == "sessions":
        result = open_sessions(int(first))
    else:
        result = find_differences(int(first), [int(count) for count in batches])
    print(json.dumps(result))
