"""Records that are written from rows: read again, they give equal rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs.ingest import compact, ingest, save_scores
from runs.models import Experiment, Response, Run
from tests.runs import full_runs
from tests.runs.attempt_records import make_attempt
from tests.runs.exporting.archives import archive_of, records_of_each_kind, unpack_to
from tests.runs.row_comparison import different_tables
from workers import records


@pytest.fixture
def run(experiment: Experiment) -> Run:
    """Create a run with two attempts: one of two epochs, and one that resumed from step 5."""
    run = full_runs.make_run(experiment)
    all_records = records_of_each_kind()
    first = run.attempts.get()
    full_runs.record(run, all_records[:9])
    full_runs.record(run, all_records[9:])
    ingest(first, 2, [records.Line(seq, 1.7e9 + seq / 3, r) for seq, r in enumerate(full_runs.a_bit_of_everything())])
    full_runs.end(run)
    second = make_attempt(run, 2, state="succeeded")
    ingest(second, 0, [records.Line(seq, 1.8e9 + seq / 7, r) for seq, r in enumerate(all_records)])
    save_scores(
        "safety", [(pk, "cost", 0.5 + pk) for pk in Response.objects.filter(run=run).values_list("pk", flat=True)[:3]]
    )
    return run


def ingest_folder(run: Run, folder: Path) -> Run:
    """Return a copy of the run, whose records are read from its exported folders."""
    copy = Run.objects.get(pk=run.pk)
    attempts = list(run.attempts.order_by("n"))
    copy.pk, copy.uid = None, "copyofarun"
    copy.save()
    for attempt in attempts:
        directory = folder / f"esweb-run-{run.uid}" / attempt.key
        twin = make_attempt(copy, attempt.n, state=attempt.state)
        for epoch in attempt.record_files.order_by("epoch").values_list("epoch", flat=True):
            piece = records.read(records.records_path(directory, epoch), limit=1 << 30)
            assert not piece.broken
            assert [line.seq for line in piece.lines] == list(range(len(piece.lines)))
            ingest(twin, epoch, piece.lines)
        type(twin).objects.filter(pk=twin.pk).update(progress=attempt.progress)
    return copy


@pytest.mark.parametrize("is_compacted", [False, True], ids=["batches", "chunks"])
def test_records_from_rows_give_equal_rows(run: Run, tmp_path: Path, is_compacted: bool) -> None:
    if is_compacted:
        compact(run.pk)
    folder = unpack_to(tmp_path, archive_of(run))
    differing = different_tables(run, ingest_folder(run, folder))
    # Alerts and scores are in files of their own, which an import applies.
    assert set(differing) == {"AttemptEvent", "Score"}, differing
