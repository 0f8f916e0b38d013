"""`manage.py import`: its output, the owner of the new runs, and arguments that it refuses before it reads a file."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from runs import access
from runs.access import Role
from runs.models import Experiment, Run
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration

pytestmark = pytest.mark.usefixtures("runs_dir")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a good log, a broken one, and something else."""
    logs = tmp_path / "sweep"
    logs.mkdir()
    (logs / "seed_0.log").write_text(HEADER.format(seed=0) + "".join(map(iteration, (1, 2, 3, 4))) + ENDED)
    (logs / "seed_1.log").write_text(HEADER.format(seed=1) + iteration(1) + "Iteration 2/4, Time: ##\n" * 12)
    (logs / "notes.md").write_text("# Notes\n")
    return logs


def import_command(*arguments: object) -> str:
    out = StringIO()
    call_command("import", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_output_lists_the_outcome_of_each_file(ada, folder):
    text = import_command(folder)
    first, second = Run.objects.order_by("seed")
    assert f"sweep/seed_0.log: ES log\n  created es α0.0005 σ0.001 seed 0 (succeeded), {first.uid}\n" in text
    assert f"  created es α0.0005 σ0.001 seed 1 (lost), {second.uid}\n" in text
    assert "  not understood: line 14: iteration 2 has no readable number\n" in text
    assert "  … and 2 more; --json lists them\n" in text
    assert "sweep/notes.md: contains nothing of a supported kind" in text
    assert "2 new runs in sweep; 1 file not read.\nTo undo it, delete the runs" in text
    assert Experiment.objects.get().owner == ada
    again = import_command(folder)
    assert f"  already imported: es α0.0005 σ0.001 seed 0, {first.uid}\n" in again
    assert "0 new runs; 2 runs already imported; 1 file not read.\n" in again


def test_several_paths_and_a_name_make_one_experiment(ada, folder):
    report = json.loads(import_command(folder / "seed_0.log", folder / "seed_1.log", "--experiment", "Both", "--json"))
    assert report["experiment"]["name"] == "Both"
    assert [file["name"] for file in report["files"]] == ["seed_0.log", "seed_1.log"]
    assert len(report["files"][1]["not_understood"]) == 12


def test_owner_must_be_unambiguous(ada, bo, folder):
    with pytest.raises(CommandError, match="--owner must name one of ada, bo"):
        import_command(folder)
    with pytest.raises(CommandError, match="--owner must name one of ada, bo, not 'eve'"):
        import_command(folder, "--owner", "eve")
    access.give_role(bo, Role.VIEWER)
    with pytest.raises(CommandError, match="bo is a viewer and cannot import"):
        import_command(folder, "--owner", "bo")
    import_command(folder, "--owner", "ada")
    assert {*Run.objects.values_list("created_by__username", flat=True)} == {"ada"}


def test_missing_path_is_named_before_anything_is_read(ada, folder, tmp_path):
    with pytest.raises(CommandError, match=r"Not found: .*nowhere"):
        import_command(folder, tmp_path / "nowhere")
    with pytest.raises(CommandError, match="at most 200 characters"):
        import_command(folder, "--experiment", "x" * 201)
    assert Run.objects.count() == 0


def test_a_command_that_read_nothing_fails_and_names_what_is_read(ada, folder):
    with pytest.raises(CommandError, match=r"Nothing was read\. Supported are: ES and TRL logs, .*TensorBoard events"):
        import_command(folder / "notes.md")
    assert Run.objects.count() == 0
