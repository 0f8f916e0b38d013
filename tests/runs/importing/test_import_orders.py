"""Published files give the same rows in whatever order they are imported, one by one or again."""

from __future__ import annotations

import random
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from runs.importing import NOTHING_READ
from runs.metrics.segments import read_points
from runs.models import Experiment, Response, Run, Series
from tests import soak_plugin

DATA = next((p / "shared" / "data" for p in Path(__file__).parents[3:6] if (p / "shared" / "data").is_dir()), None)
SETS = ("conciseness", "countdown")
SEED = soak_plugin.seed(1)
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.soak,
    pytest.mark.skipif(DATA is None, reason="the published logs and evaluations are not here"),
]


def paths_of(name: str) -> list[Path]:
    assert DATA is not None
    return sorted(path for path in (DATA / name).rglob("*") if path.is_file())


def import_one_by_one(paths: list[Path], experiment: Experiment) -> None:
    """Import the files in this order, one command each. Files that hold no runs, such as prompts, are refused."""
    for path in paths:
        try:
            call_command(
                "import", str(path), experiment=experiment.name, owner=experiment.owner.username, stdout=StringIO()
            )
        except CommandError as error:
            assert str(error) == NOTHING_READ, path


def rows_of(experiment: Experiment) -> list[Any]:
    """Return what the runs of an experiment hold, without names of rows that an import draws."""
    return sorted(
        (_run_row(run) for run in Run.objects.filter(experiment=experiment, deleted_at=None).select_related("parent")),
        key=repr,
    )


def _run_row(run: Run) -> tuple[Any, ...]:
    keys = sorted(Series.objects.filter(run=run).values_list("key", flat=True))
    points = dict(read_points([run.pk], keys)).get(run.pk, {})
    curves = [(key, points[key].steps.tolist(), [repr(v) for v in points[key].values.tolist()]) for key in keys]
    responses = sorted(
        Response.objects.filter(attempt__run=run).values_list(
            "step", "split", "prompt__name", "sample", "text", "tokens", "reward", "kl"
        ),
        key=repr,
    )
    parent = run.parent.name if run.parent else None
    return run.name, run.method, run.seed, run.state, parent, repr(sorted(run.config.items())), curves, responses


@pytest.mark.parametrize("name", SETS)
def test_rows_are_equal_in_every_order_of_the_files(name: str) -> None:
    ada, paths = User.objects.create_user("ada"), paths_of(name)
    expected: list[Any] = []
    for number in soak_plugin.rounds(10, "orders"):
        order = random.Random(SEED + number).sample(paths, len(paths))
        experiment = Experiment.objects.create(name=f"{name} {number}", owner=ada)
        import_one_by_one(order, experiment)
        rows = rows_of(experiment)
        expected = expected or rows
        assert rows == expected, f"order {number} of seed {SEED}"
        import_one_by_one(order, experiment)
        assert rows_of(experiment) == expected, f"order {number} of seed {SEED}, imported again"
    if not expected:
        pytest.skip(f"{name}: no file there holds a run")
    print(f"\n{name}: {len(expected)} runs, {sum(len(row[-1]) for row in expected)} responses, the same in every order")
