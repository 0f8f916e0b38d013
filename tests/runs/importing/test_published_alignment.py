"""The published scores of four models, 3036 answers each, give the published quadrants, means and safe ratios."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from runs import metrics
from runs.models import Response, Run

FOLDERS = [parent / "shared" / "data" / "alignment" for parent in Path(__file__).parents[3:5]]
FOLDER = next((folder for folder in FOLDERS if folder.is_dir()), None)
COUNTS = {"Alpaca-7B": (588, 649, 808, 991), "Beaver-V1": (1023, 1738, 190, 85), "Beaver-V3": (2220, 752, 44, 20),
          "ES-500": (2910, 90, 32, 4)}  # fmt: skip


@pytest.mark.skipif(FOLDER is None, reason="the published scores are not here")
def test_the_published_scores_give_the_published_numbers(ada, runs_dir):
    with connection.cursor() as cursor:
        # Tables that were empty when PostgreSQL last looked are joined row by row, which takes minutes for so many.
        cursor.execute("SET LOCAL enable_nestloop TO off")
    out = StringIO()
    call_command("import", str(FOLDER), "--json", stdout=out)
    result = json.loads(out.getvalue())
    files = [file for file in result["files"] if file["kinds"] == ["scored answers"]]
    assert [file["made"][0]["name"] for file in files] == list(COUNTS)
    assert [file["not_understood"] for file in files] == [[]] * 4
    for run in Run.objects.filter(name__in=COUNTS):
        check(run)


def check(run: Run) -> None:
    assert FOLDER is not None
    published = json.loads((FOLDER / f"{run.name}_summary.json").read_text())
    ours = metrics.latest([run])[run.pk]
    assert Response.objects.filter(run=run).count() == ours["eval/n"] == 3036
    inside = [round(3036 * ours[f"safety/quadrant/{name}"], 9) for name in ("SH", "SU", "UH", "UU")]
    assert tuple(inside) == COUNTS[run.name] == tuple(published["counts"].values())
    assert ours["safety/safe_ratio"] == pytest.approx(published["safe_ratio"] / 100, abs=1e-12)
    for key, name in (
        ("reward/mean", "R_mean"),
        ("cost/mean", "C_mean"),
        ("reward/std", "R_std"),
        ("cost/std", "C_std"),
    ):
        assert ours[key] == pytest.approx(published[name], abs=1e-6)
