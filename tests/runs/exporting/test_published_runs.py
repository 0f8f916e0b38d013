"""Runs of a site with a GPU, imported, exported and imported again: equal rows, from files and from the database."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from runs import importing
from runs.importing import ImportTarget
from runs.models import Run
from tests.runs.exporting.round_trip import export_to, import_zip
from tests.runs.row_comparison import different_tables

DATA = next((p / "shared" / "data" for p in Path(__file__).parents[3:6] if (p / "shared" / "data").is_dir()), None)
pytestmark = [
    pytest.mark.usefixtures("runs_dir"), pytest.mark.soak,
    pytest.mark.skipif(DATA is None, reason="needs ../shared/data/smollm2"),
]  # fmt: skip


def test_runs_of_a_gpu_survive_export_and_import(ada: User, bo: User, tmp_path: Path) -> None:
    assert DATA is not None
    with ExitStack() as stack:
        files = importing.files_from_path(DATA / "smollm2-site", stack, importing.Budget())
        runs = importing.import_runs(files, ImportTarget(ada, "Published")).new_runs
    assert len(runs) == 4
    for run in (Run.objects.get(pk=run.pk) for run in runs):
        for is_cleaned in (False, True):
            if is_cleaned:
                shutil.rmtree(run.root)
            (copy,) = import_zip(export_to(tmp_path, run), bo, f"{is_cleaned}").new_runs
            # A probe's subjects are runs that this import does not bring.
            assert different_tables(run, copy).keys() <= {"ProbeResult"}, (run.name, is_cleaned)
