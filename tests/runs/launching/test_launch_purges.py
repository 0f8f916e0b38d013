"""Copies of code, and links of arrays, go when nothing needs them, and never under a launch."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from runs.launching import plan_restart, purge_arrays, purge_code, tasks
from runs.launching.code import pin
from runs.models import Attempt, Experiment, Run
from tests.runs.local_cluster import Small, attempt_of, run_of
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.code import fingerprint, unpack_package
from workers.executors.states import State

GONE, RAN, WAITS, CAME_BEFORE = (letter * 64 for letter in "0123")
TWO_DAYS = 2 * 86400


@pytest.fixture
def root(small: Small, tmp_path: Path, settings: Settings) -> Path:
    """Return a folder of code, apart from that of other tests, with copies that are two days old."""
    settings.DATA_DIR = tmp_path / "data"
    code = settings.DATA_DIR / "code"
    for sha in (GONE, RAN, WAITS, CAME_BEFORE):
        (code / sha / "workers").mkdir(parents=True)
        (code / f"{sha}.pyz").touch()
    for path in code.iterdir():
        age(path)
    return code


def age(path: Path, seconds: float = TWO_DAYS) -> None:
    os.utime(path, (time.time() - seconds,) * 2, follow_symlinks=False)


def ran(experiment: Experiment, sha: str, state: State) -> Run:
    run = run_of(experiment, restarts=1)
    run.attempts.update(code={"sha256": sha}, state=state.value)
    return run


def test_code_of_open_runs_is_retained_and_old_code_downloadable(experiment: Experiment, root: Path) -> None:
    ran(experiment, RAN, State.SUCCEEDED)
    ran(experiment, WAITS, State.QUEUED)
    waiting = ran(experiment, CAME_BEFORE, State.FAILED)
    plan_restart(attempt_of(waiting))
    here = unpack_package(root)
    age(here)
    young = root / ("4" * 64)
    young.mkdir()
    tasks.purge_copies()
    left = {path.name for path in root.iterdir()}
    bundles = {f"{sha}.pyz" for sha in (RAN, WAITS, CAME_BEFORE, here.name)}
    assert left == {WAITS, CAME_BEFORE, here.name, young.name} | bundles
    assert here.name == fingerprint()


@pytest.mark.django_db(transaction=True)
def test_purge_retains_code_of_a_concurrent_launch(
    experiment: Experiment, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, code_selected, may_continue = run_of(experiment), threading.Event(), threading.Event()

    def slowly() -> dict[str, str]:
        code_selected.set()
        assert may_continue.wait(PATIENCE_SECONDS)
        return {"sha256": GONE}

    monkeypatch.setattr("runs.launching.code._present_code", slowly)
    launching, purging_it = (threading.Thread(target=alone, args=(action,)) for action in (
        lambda: pin(attempt_of(run)), purge_code,
    ))  # fmt: skip
    launching.start()
    assert code_selected.wait(PATIENCE_SECONDS)
    purging_it.start()
    wait_until(is_a_lock_awaited, "the purge to wait for the launch")
    may_continue.set()
    for thread in (launching, purging_it):
        thread.join(PATIENCE_SECONDS)
    assert (root / GONE).is_dir() and not (root / RAN).exists()


def is_a_lock_awaited() -> bool:
    with connection.cursor() as sql:
        sql.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()"
        )
        return sql.fetchone() == (1,)


def alone(action: object) -> None:
    try:
        action()  # type: ignore[operator]
    finally:
        connection.close()


def test_links_of_an_array_go_when_none_of_its_tasks_is_open(
    experiment: Experiment, root: Path, runs_dir: Path
) -> None:
    done, going = ran(experiment, RAN, State.SUCCEEDED), ran(experiment, RAN, State.RUNNING)
    for name, runs in (("over", [done]), ("half", [done, going])):
        for index, run in enumerate(runs):
            folder = runs_dir / "arrays" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / str(index)).symlink_to(attempt_of(run).directory)
        age(runs_dir / "arrays" / name)
    assert purge_arrays() == ["over"]
    assert [path.name for path in (runs_dir / "arrays").iterdir()] == ["half"]
    Attempt.objects.update(state=State.CANCELLED.value)
    assert purge_arrays() == ["half"]
