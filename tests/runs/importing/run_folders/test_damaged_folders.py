"""Damaged run folders: a byte that was changed, or a file that was cut, anywhere. Nothing is lost without a remark."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from runs.models import Run
from tests.runs.importing.run_folders.folders import (
    UID,
    es_records,
    import_path,
    remarks_of,
    write_attempt,
    write_checkpoint,
)
from tests.runs.row_comparison import different_tables
from tests.soak_plugin import rounds

pytestmark = pytest.mark.usefixtures("runs_dir")
LOST = "rows, the copy has"


def test_damage_is_reported_or_loses_nothing(ada: User, tmp_path: Path) -> None:
    """What a changed digit means, no reader can know: such a record has the value that the file states."""
    folder = tmp_path / "whole" / f"esweb-{UID}-a1"
    folder.mkdir(parents=True)
    write_attempt(folder, [*es_records()[:-1], write_checkpoint(folder, 3), es_records()[-1]])
    (folder / "checkpoints" / "step-000003" / "optimizer.pt").unlink()
    whole = import_path(folder, ada, "Whole").new_runs[0]
    files = sorted(file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    for number in rounds(10, "damaged folders"):
        chance = random.Random(number)
        copy = tmp_path / f"{number}" / folder.name
        shutil.copytree(folder, copy)
        damaged = copy / (files[number % len(files)] if number % 2 else "records.0.jsonl")
        description = damage(damaged, chance)
        with transaction.atomic():
            check(whole, import_path(copy, ada, f"Damaged {number}"), damaged.relative_to(copy), description)
            transaction.set_rollback(True)
        shutil.rmtree(copy.parent)


def damage(file: Path, chance: random.Random) -> str:
    """Change one byte of a file, or cut the file, and return what was done."""
    data = bytearray(file.read_bytes())
    at = chance.randrange(len(data))
    if chance.random() < 0.3:
        file.write_bytes(data[:at])
        return f"{file.name} cut at byte {at}"
    before = data[at]
    data[at] ^= chance.randrange(1, 256)
    file.write_bytes(data)
    return f"{file.name}, byte {at}: {before:#x} became {data[at]:#x}"


def check(whole: Run, imported: object, name: Path, description: str) -> None:
    """Check that the import named the file, or that all rows are there and at most one record of them differs."""
    remarks = remarks_of(imported)  # type: ignore[arg-type]
    if any(name.as_posix() in remark or (name.parent.name and name.parent.name in remark) for remark in remarks):
        return
    (copy,) = imported.new_runs  # type: ignore[attr-defined]
    differences = different_tables(whole, copy)
    for summary in ("AttemptEvent", "Series", "provenance"):
        # A metric whose name was changed is another series; its points are compared.
        differences.pop(summary, None)
    if name.name in ("run.json", "exit.json"):
        return
    assert not [text for texts in differences.values() for text in texts if LOST in text], (description, differences)
    if name.name.startswith("records"):
        return
    copied = copy.attempts.get().directory / name
    assert copied.exists(), description
    assert not differences, (description, differences)
