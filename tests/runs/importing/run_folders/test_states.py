"""End of an imported attempt: by its exit record as on a site, otherwise by the end of its records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from runs.models import Attempt, Run
from tests.cases import each_case
from tests.runs.importing.run_folders.folders import BEGAN, DONE, es_records, import_path, write_attempt, write_exit
from workers.records import Status

pytestmark = pytest.mark.django_db
FAILED = Status("failed", "RewardFailed: the reward failed twice")
STOPPED = Status("saving", "iteration 2: stopped; the checkpoint is saved and the run can resume from it")
THREE = ": the last step is 3 of 3, and there is no exit record"
LATE = Status("training", "iteration 3", 0.6)


@each_case(
    "ending, last, state, reason",
    [
        ({"code": 0}, DONE, "succeeded", "done"),
        ({"code": 1}, FAILED, "failed", "ended with exit code 1: RewardFailed: the reward failed twice"),
        ({"code": 1}, LATE, "failed", "ended with exit code 1: step 2"),
        ({"code": 74}, FAILED, "failed", "RewardFailed: the reward failed twice"),
        ({"code": 75, "stopped": True}, STOPPED, "interrupted", "was stopped and saved a checkpoint"),
        ({"code": 75, "timed_out": True}, STOPPED, "timeout", "reached its time limit of 0 s; a checkpoint was saved"),
        ({"code": None, "signal": 9, "oom_kills": 1}, LATE, "oom", "killed by signal 9 for lack of memory: oom_kill of "
         "its control group rose by 1"),
        ({"code": None, "signal": 11}, LATE, "failed", "killed by signal 11 (SIGSEGV)"),
        ({"code": "0"}, DONE, "succeeded", "done"),
        ({"code": None}, LATE, "unknown",
         f"records.0.jsonl ends with the status training (iteration 3){THREE}"),
        (None, DONE, "succeeded", "done"),
        (None, FAILED, "failed", "RewardFailed: the reward failed twice"),
        (None, STOPPED, "unknown",
         f"records.0.jsonl ends with the status saving ({STOPPED.message}){THREE}"),
    ],
)  # fmt: skip
def test_attempt_ends_as_its_files_show(
    ada: User, settings: Settings, tmp_path: Path, ending: dict[str, Any] | None, last: Status, state: str, reason: str
) -> None:
    settings.RUNS_DIR = tmp_path / "runs"
    folder = write_attempt(tmp_path / "d", [*es_records()[:-1], last], code=None)
    if ending is not None:
        write_exit(folder, **ending)
    run = import_path(folder, ada, str(ending) + last.phase).new_runs[0]
    attempt = Attempt.objects.get(run=run)
    assert (run.state, attempt.reason) == (state, reason)
    assert Run.objects.get(pk=run.pk).time_taken.total_seconds() in (61.0, len(es_records()) - 1.0)
    began = attempt.started_at
    assert began is not None and began.timestamp() in (BEGAN, BEGAN - 1)


def test_folder_without_any_record_is_a_run_of_unknown_state(ada: User, settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path / "runs"
    folder = write_attempt(tmp_path / "d", [], code=None)
    run = import_path(folder, ada).new_runs[0]
    assert (run.state, run.method, run.attempts.get().reason) == (
        "unknown",
        "es",
        "there is no record, and no exit record",
    )
