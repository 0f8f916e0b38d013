"""Invariants of a settled site. Each check returns sentences about violations."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from tests.chaos.database_view import DatabaseView, Row
from tests.chaos.process_watch import Sightings
from tests.chaos.recount import differences, read_file, whole_lines
from workers.attempt import read_json
from workers.config import RunConfig
from workers.executors.base import STOPPED_BY_ESWEB
from workers.executors.states import State
from workers.records import records_path

DISK_FULL = "disk full"


def find_violations(
    data: Path,
    launched: Sequence[str],
    killed: Collection[Path],
    starved: Collection[Path],
    trained: Mapping[Path, Sightings],
) -> list[str]:
    """Return all violations.

    `killed`: attempts whose agent or program was killed; `starved`: attempts that met a full disk; `trained`: the
    processes that were seen training in each attempt's directory.
    """
    with DatabaseView(data) as database:
        attempts = database.attempts()
        violations = [*_run_violations(database, launched), *_leftover_violations(data, attempts)]
        for run in database.runs():
            run_attempts = [attempt for attempt in attempts if attempt["run_id"] == run["id"]]
            problems = [
                *_attempt_violations(run, run_attempts, trained, data),
                *_point_violations(database, run, run_attempts, data),
            ]
            for attempt in run_attempts:
                directory = _directory(data, attempt)
                was_starved = DISK_FULL in attempt["reason"] and (directory in starved or not directory.exists())
                attempt_problems = (
                    *_final_state_violations(attempt, directory, directory in killed, was_starved),
                    *_record_violations(database, attempt, directory),
                )
                problems += [f"attempt {attempt['n']}, {attempt['state']}: {problem}" for problem in attempt_problems]
            violations += [f"{run['name']} ({run['uid']}): {problem}" for problem in problems]
    return violations


def _directory(data: Path, attempt: Row) -> Path:
    return data / "runs" / str(attempt["uid"]) / str(attempt["key"])


def _run_violations(database: DatabaseView, launched: Sequence[str]) -> Iterator[str]:
    existing, expected = Counter(run["name"] for run in database.runs()), Counter(launched)
    if existing != expected:
        yield f"runs missing: {dict(expected - existing)}; too many: {dict(existing - expected)}"


def _attempt_violations(
    run: Row, attempts: Sequence[Row], trained: Mapping[Path, Sightings], data: Path
) -> Iterator[str]:
    """Check that attempts run one after the other, within the budget, and that the last one decides the run's state."""
    config = RunConfig.from_json(run["config"])
    if run["state"] != attempts[-1]["state"]:
        yield f"is {run['state']}, its newest attempt {attempts[-1]['state']}"
    paid = [attempt for attempt in attempts if attempt["origin"] != "site_start"]
    if not 1 <= len(paid) <= 1 + config.compute.restarts:
        yield f"{len(paid)} attempts, where {config.compute.restarts} restarts are allowed"
    if run["state"] != State.SUCCEEDED and len(paid) < 1 + config.compute.restarts:
        yield f"given up after {len(attempts)} attempts"
    sightings_list = [sightings for attempt in attempts if (sightings := trained.get(_directory(data, attempt)))]
    for before, after in pairwise(sightings_list):
        if after.first_at < before.last_at:
            yield "two attempts trained at once"
    for attempt in attempts:
        sightings, epochs = trained.get(_directory(data, attempt)), [*_directory(data, attempt).glob("records.*.jsonl")]
        # Each start writes a file of its own, also one that nobody saw.
        if len(epochs) > 1 or (sightings and len(sightings.processes) > 1):
            yield f"{attempt['key']} was started more than once: {sightings}, {epochs}"
    if run["state"] == State.SUCCEEDED:
        lines = [line for attempt in attempts for line in whole_lines(records_path(_directory(data, attempt), 0))]
        last = max((line["step"] for line in lines if line["kind"] == "metric"), default=0)
        end = {"kind": "status", "phase": "done", "progress": 1.0}
        if last != config.steps or not end.items() <= lines[-1].items():
            yield f"succeeded after step {last} of {config.steps}, its last record being {lines[-1]}"


def _point_violations(database: DatabaseView, run: Row, attempts: Sequence[Row], data: Path) -> Iterator[str]:
    """Check that tables show as many points of each key as the files hold."""
    files = [file for attempt in attempts for file in _directory(data, attempt).glob("records.*.jsonl")]
    metrics = [values for file in files for kind, _, _, *values in read_file(file).elements() if kind == "metric"]
    written = Counter(key for (values,) in metrics for key, _ in values)
    if (stored := database.points_by_key(run["id"])) != dict(written):
        yield f"{sum(stored.values())} points are shown, {written.total()} written"


def _final_state_violations(attempt: Row, directory: Path, was_killed: bool, was_starved: bool) -> Iterator[str]:
    """Check that the state is the one in the agent's exit record.

    Without a record the agent was killed. A full disk is the reason of a starved attempt.
    """
    state, exit_record = State(attempt["state"]), read_json(directory / "exit.json")
    was_stopped = state == State.INTERRUPTED and attempt["native_state"] == STOPPED_BY_ESWEB
    if not state.is_final or attempt["drained_at"] is None:
        yield f"not at rest (drained: {attempt['drained_at']})"
    if exit_record is None and state != State.LOST and directory.exists():
        yield "no exit record, and not called lost"
    if exit_record is not None and (attempt["exit_code"], attempt["exit_signal"]) != (
        exit_record["code"],
        exit_record["signal"],
    ):
        yield f"exit {attempt['exit_code']}, {attempt['exit_signal']}, where exit.json says {exit_record}"
    if exit_record is not None and (state == State.SUCCEEDED) != (exit_record["code"] == 0):
        yield f"exit.json says {exit_record}"
    if (
        exit_record is not None
        and exit_record["code"] != 0
        and exit_record["signal"] != signal.SIGKILL
        and not (was_starved or was_stopped)
    ):
        yield f"failed by itself: {attempt['reason']}"
    if state != State.SUCCEEDED and not attempt["reason"]:
        yield "no word about why"
    if state != State.SUCCEEDED and not (was_killed or was_starved or was_stopped):
        yield f"nobody hit it, and it ended: {attempt['reason']}"


def _record_violations(database: DatabaseView, attempt: Row, directory: Path) -> Iterator[str]:
    """Check that the rows are the whole lines of the files, each once."""
    files = database.files(attempt["id"])
    epochs = [epoch for epoch in range(len(files) + 1) if records_path(directory, epoch).exists()]
    if not set(files) <= set(epochs):
        yield f"epochs in the database: {sorted(files)}, in files: {epochs}"
    for epoch in epochs:
        path = records_path(directory, epoch)
        numbers = [line["seq"] for line in whole_lines(path)]
        if numbers != list(range(len(numbers))):
            yield f"{path.name} is numbered with gaps"
        end = path.read_bytes().rfind(b"\n") + 1
        if numbers and files.get(epoch) != (end, len(numbers)):
            yield f"read to {files.get(epoch)} of {(end, len(numbers))}"
        yield from differences(database.connection, attempt["id"], epoch, path)


def _leftover_violations(data: Path, attempts: Sequence[Row]) -> Iterator[str]:
    """Check that every directory and job has a row, and that the queue is empty."""
    keys, directories = {a["key"] for a in attempts}, {p.name for p in data.glob("runs/*/esweb-*")}
    if directories - keys:
        yield f"directories that no row knows: {sorted(directories - keys)}"
    queue = data / "queue" / "local"
    if waiting := sorted(path.name for path in (queue / "open").glob("*.json")):
        yield f"still in line: {waiting}"
    if unknown_jobs := {path.stem for path in (queue / "ended").glob("*.json")} - keys:
        yield f"jobs that no row knows: {sorted(unknown_jobs)}"
