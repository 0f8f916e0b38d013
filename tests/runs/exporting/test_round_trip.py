"""Export, then import as another user: the rows are equal, whatever kind of run it is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from runs.importing import ImportTarget, import_uploads
from runs.ingest import compact, ingest, save_scores
from runs.models import Experiment, Response, Run
from tests.cases import each_case
from tests.runs import full_runs
from tests.runs.attempt_records import make_attempt
from tests.runs.audit_runs import complete_audit
from tests.runs.evaluation_runs import make_evaluation, make_training, record_steps
from tests.runs.exporting.archives import records_of_each_kind
from tests.runs.exporting.round_trip import export_to, import_zip
from tests.runs.external_runs import make_external_run
from tests.runs.importing.sample_logs import iteration
from tests.runs.probe_runs import make_probe_run, record_norms
from tests.runs.row_comparison import different_tables
from workers.records import Line, pack, records_path

pytestmark = pytest.mark.usefixtures("runs_dir")


def write_records(run: Run, epoch: int = 0) -> None:
    """Write records of each kind as the run's newest attempt does: to its file, from which they are ingested."""
    attempt = run.newest_attempt()
    assert attempt is not None
    lines = [Line(seq, 1.7e9 + seq / 3, record) for seq, record in enumerate(records_of_each_kind())]
    data = b"".join(pack(line.seq, line.t, line.record) for line in lines)
    attempt.directory.mkdir(parents=True, exist_ok=True)
    records_path(attempt.directory, epoch).write_bytes(data)
    ingest(attempt, epoch, lines, offset=len(data))


def finish(run: Run, state: str = "succeeded") -> None:
    """Give the run's newest attempt its end, as the site stores it, and the run its name, note and tags."""
    attempt = run.newest_attempt()
    assert attempt is not None
    attempt.note("the program ended", before="running", after=state)
    run.attempts.filter(pk=attempt.pk).update(
        state=state, reason="as planned", exit_code=0, native_id="1234", started_at=datetime(2026, 1, 2, tzinfo=UTC),
        ended_at=datetime(2026, 1, 3, tzinfo=UTC), code={"sha256": "ab" * 32, "commit": "c0ffee", "is_dirty": False},
    )  # fmt: skip
    Run.objects.filter(pk=run.pk).update(
        state=state, name="λ, best", note="**why**", tags=["paper", "β=0"], cell={"es.sigma": 0.01}
    )


def launched_run(experiment: Experiment) -> Run:
    """Create a run whose second attempt resumed from the first one's checkpoint, with scores of its responses."""
    run = full_runs.make_run(experiment)
    write_records(run)
    full_runs.end(run)
    second = make_attempt(run, 2)
    type(second).objects.filter(pk=second.pk).update(resumed_attempt=1, resumed_step=5)
    write_records(run)
    write_records(run, epoch=1)
    answers = Response.objects.filter(run=run).order_by("pk").values_list("pk", flat=True)
    save_scores("safety", [(pk, "cost", 0.5 + place) for place, pk in enumerate(answers[:5])])
    return run


def external_run(experiment: Experiment) -> Run:
    """Create a run that a program elsewhere reported, with a config of its own."""
    return make_external_run(experiment, config={"lr": 1e-5, "deep": {"a": [1, None]}, "seed": 3}, seed=3)


def evaluation(experiment: Experiment) -> Run:
    """Create an evaluation of a training, with the values of its steps."""
    return record_steps(make_evaluation(experiment, make_training(experiment)), {0: [1, 2], 5: [3, 4]})


def probe(experiment: Experiment) -> Run:
    """Create a probe of a training."""
    training = make_training(experiment)
    return record_norms(make_probe_run(experiment, [training]), training)


def log_of_another_program(experiment: Experiment) -> Run:
    """Create a run by an import of another program's log, which states no config of ours."""
    log = "".join(iteration(i, total=3) + "\n" for i in range(1, 4))
    file = SimpleUploadedFile("alpha0.0005_sigma0.001/es_seed7.log", log.encode())
    target = ImportTarget(experiment.owner, experiment.name, experiment=experiment)
    (run,) = import_uploads([file], ["alpha0.0005_sigma0.001/es_seed7.log"], target).new_runs
    return run


RUNS = {
    "launched": launched_run,
    "external": external_run,
    "evaluation": evaluation,
    "probe": probe,
    "audit": complete_audit,
    "log": log_of_another_program,
}
FORMS = [
    ("launched", "files"), ("launched", "rows"), ("launched", "chunks"), ("external", "chunks"), ("evaluation", "rows"),
    ("probe", "rows"), ("audit", "rows"), ("log", "rows"),
]  # fmt: skip


@each_case("kind, records", FORMS)
def test_exported_run_is_imported_to_equal_rows(
    kind: str, records: str, experiment: Experiment, bo: User, tmp_path: Path
) -> None:
    run = RUNS[kind](experiment)
    finish(run)
    if records != "files":
        for path in run.root.glob("*/records.*"):
            path.unlink()
    if records == "chunks":
        compact(run.pk)
    run = Run.objects.get(pk=run.pk)
    imported = import_zip(export_to(tmp_path, run), bo)
    (copy,) = imported.new_runs
    assert copy.created_by == bo and copy.uid != run.uid and not imported.refused
    # The training that a probe names is not there: its uid is another run's on this site.
    assert set(different_tables(run, copy)) == ({"ProbeResult"} if kind == "probe" else set())
    again = import_zip(export_to(tmp_path, run), bo)
    assert again.known_runs == [copy] and not again.new_runs
    if kind == "launched":
        # The copy is exported as well as the run itself.
        (third,) = import_zip(export_to(tmp_path, Run.objects.get(pk=copy.pk)), experiment.owner, "Back").new_runs
        assert different_tables(run, third) == {}
