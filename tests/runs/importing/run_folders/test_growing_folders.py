"""The same folder again: nothing is created, what is new is added in place, an older copy changes nothing."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import importing, metrics
from runs.models import Run
from tests.runs.importing.run_folders.folders import (
    BEGAN,
    UID,
    es_records,
    import_path,
    remarks_of,
    write_attempt,
    write_exit,
)
from tests.runs.row_comparison import different_tables
from workers.records import Metric, Status, pack

pytestmark = pytest.mark.usefixtures("runs_dir")


def test_folder_that_has_grown_continues_its_run_in_place(ada: User, tmp_path: Path) -> None:
    whole = write_attempt(tmp_path / "whole" / "d")
    expected = import_path(whole, ada, "Whole").new_runs[0]
    folder = write_attempt(tmp_path / "d", code=None)
    data = (folder / "records.0.jsonl").read_bytes()
    (folder / "records.0.jsonl").write_bytes(data[:700])
    first = import_path(folder, ada)
    assert any("the last line is cut off after" in remark for remark in remarks_of(first))
    run = Run.objects.get(experiment__name="Folders")
    assert run.state == "unknown"
    Run.objects.filter(pk=run.pk).update(note="mine", tags=["kept"])
    (folder / "records.0.jsonl").write_bytes(data)
    write_exit(folder)
    shutil.copytree(folder, tmp_path / "copy")
    again = import_path(folder, ada)
    assert (again.continued_runs, again.new_runs, remarks_of(again)) == ([run], [], [])
    run.refresh_from_db()
    assert (run.state, run.note, run.tags) == ("succeeded", "mine", ["kept"])
    tables = different_tables(expected, run)
    tables.pop("AttemptEvent")
    assert {text.partition(":")[0] for text in tables.pop("Run")} == {"note", "tags"}
    assert tables == {}
    assert (run.attempts.get().directory / "records.0.jsonl").read_bytes() == data
    assert import_path(tmp_path / "copy", ada).known_runs == [run]


def test_older_copy_of_a_folder_changes_nothing(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d")
    run = import_path(folder, ada).new_runs[0]
    points = metrics.latest([run])
    (folder / "exit.json").unlink()
    data = (folder / "records.0.jsonl").read_bytes()
    (folder / "records.0.jsonl").write_bytes(data[: data.index(b"\n", 900) + 1])
    assert import_path(folder, ada).known_runs == [run]
    run.refresh_from_db()
    assert (run.state, metrics.latest([run])) == ("succeeded", points)


def test_attempts_of_a_run_may_come_one_after_the_other(ada: User, tmp_path: Path) -> None:
    for n in (2, 1, 3):
        records = es_records(f"node{n}") if n == 3 else [*es_records(f"node{n}")[:-1], Status("training", "on")]
        write_attempt(tmp_path / f"{n}" / f"esweb-{UID}-a{n}", records, code=0 if n == 3 else 75)
        import_path(tmp_path / f"{n}", ada)
        write_attempt(tmp_path / "all" / f"esweb-{UID}-a{n}", records, code=0 if n == 3 else 75)
    run = Run.objects.get()
    assert [attempt.state for attempt in run.attempts.order_by("n")] == ["interrupted", "interrupted", "succeeded"]
    assert run.state == "succeeded"
    whole = import_path(tmp_path / "all", ada, "Whole").new_runs[0]
    assert set(different_tables(run, whole)) <= {"Run", "AttemptEvent"}
    assert import_path(tmp_path / "all", ada).known_runs == [run]


def test_two_trainings_of_one_config_are_two_runs(ada: User, tmp_path: Path) -> None:
    """The first line has the time and the machine of the start: the name of a folder identifies no run."""
    first = import_path(write_attempt(tmp_path / "d"), ada).new_runs[0]
    second = import_path(write_attempt(tmp_path / "d", es_records("other")), ada).new_runs[0]
    assert first.pk != second.pk


def test_other_records_of_a_known_run_replace_them_only_if_there_are_more(ada: User, tmp_path: Path) -> None:
    root = tmp_path / UID
    run = import_path(write_attempt(root / f"esweb-{UID}-a1"), ada).new_runs[0]
    write_attempt(root / f"esweb-{UID}-a1", es_records("other")[:4])
    assert "was imported before with other records" in str(import_path(root, ada).outcomes[0].report.facts)
    write_attempt(root / f"esweb-{UID}-a1", [*es_records("other")[:-1], *es_records()[3:6], es_records()[-1]])
    assert import_path(root, ada).continued_runs == [run]
    assert run.attempts.get().environment["node"] == "other"
    assert run.population_set.count() == 4


def test_files_of_an_older_or_refused_copy_replace_none(ada: User, tmp_path: Path) -> None:
    run = import_path(write_attempt(tmp_path / "whole" / f"esweb-{UID}-a1"), ada).new_runs[0]
    copies = {file: file.read_bytes() for file in run.root.rglob("*") if file.is_file()}
    for name, records in (("older", es_records()[:5]), ("other", es_records("other")[:5])):
        folder = write_attempt(tmp_path / name / f"esweb-{UID}-a1", records, seed=99)
        (folder / "log.txt").write_text("other\n")
        assert import_path(folder, ada).known_runs == [run]
        assert {file: file.read_bytes() for file in run.root.rglob("*") if file.is_file()} == copies, name


def test_records_written_during_an_import_are_those_of_the_next(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d", es_records()[:5], code=None)
    with ExitStack() as stack:
        files = list(importing.files_from_path(folder, stack))
        with (folder / "records.0.jsonl").open("ab") as records:
            records.write(pack(5, BEGAN, Metric(9, {"a": 1.0})))
        imported = importing.import_runs(files, importing.ImportTarget(ada, "Folders"))
    assert "cut off" not in str(remarks_of(imported))
    assert import_path(folder, ada).outcomes[0].records == 1


def test_import_locks_no_row_of_its_user(ada: User, tmp_path: Path) -> None:
    with CaptureQueriesContext(connection) as queries:
        import_path(write_attempt(tmp_path / "d"), ada)
    statements = [query["sql"] for query in queries]
    assert any("pg_advisory_xact_lock" in sql for sql in statements)
    assert not [sql for sql in statements if "auth_user" in sql and "FOR UPDATE" in sql]
