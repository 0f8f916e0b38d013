"""What must hold once everything has come to rest. Each look returns sentences about what does not."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from tests.chaos.database_view import Books, Row
from tests.chaos.process_watch import Sightings
from tests.chaos.recount import differences, of_file, whole_lines
from workers.attempt import read_json
from workers.config import RunConfig
from workers.executors.states import State
from workers.records import records_path

DISK_FULL = "disk full"


def untruths(
    data: Path,
    launched: Sequence[str],
    hit: Collection[Path],
    starved: Collection[Path],
    trained: Mapping[Path, Sightings],
) -> list[str]:
    """Return all of them.

    `hit`: attempts whose agent or program was killed; `starved`: those that met a full disk; `trained`: who was seen
    training in each.
    """
    with Books(data) as books:
        attempts = books.attempts()
        found = [*_runs(books, launched), *_places(data, attempts)]
        for run in books.runs():
            mine = [attempt for attempt in attempts if attempt["run_id"] == run["id"]]
            said = [*_attempts(run, mine, trained, data), *_totals(books, run, mine, data)]
            for attempt in mine:
                home = _home(data, attempt)
                was_starved = DISK_FULL in attempt["reason"] and (home in starved or not home.exists())
                of_it = (*_ending(attempt, home, home in hit, was_starved), *_records(books, attempt, home))
                said += [f"attempt {attempt['n']}, {attempt['state']}: {words}" for words in of_it]
            found += [f"{run['name']} ({run['uid']}): {words}" for words in said]
    return found


def _home(data: Path, attempt: Row) -> Path:
    return data / "runs" / str(attempt["uid"]) / str(attempt["key"])


def _runs(books: Books, launched: Sequence[str]) -> Iterator[str]:
    there, wanted = Counter(run["name"] for run in books.runs()), Counter(launched)
    if there != wanted:
        yield f"runs missing: {dict(wanted - there)}; too many: {dict(there - wanted)}"


def _attempts(run: Row, mine: Sequence[Row], trained: Mapping[Path, Sightings], data: Path) -> Iterator[str]:
    """One after the other, as many as the budget allows, the last one speaking for the run."""
    config = RunConfig.from_json(run["config"])
    if run["state"] != mine[-1]["state"]:
        yield f"is {run['state']}, its newest attempt {mine[-1]['state']}"
    if not 1 <= len(mine) <= 1 + config.compute.restarts:
        yield f"{len(mine)} attempts, where {config.compute.restarts} restarts are allowed"
    if run["state"] != State.SUCCEEDED and len(mine) < 1 + config.compute.restarts:
        yield f"given up after {len(mine)} attempts"
    seen = [sightings for attempt in mine if (sightings := trained.get(_home(data, attempt)))]
    for before, after in pairwise(seen):
        if after.first_at < before.last_at:
            yield "two attempts trained at once"
    for attempt in mine:
        sightings, epochs = trained.get(_home(data, attempt)), [*_home(data, attempt).glob("records.*.jsonl")]
        # Each start writes a file of its own, also one that nobody saw.
        if len(epochs) > 1 or (sightings and len(sightings.processes) > 1):
            yield f"{attempt['key']} was started more than once: {sightings}, {epochs}"
    if run["state"] == State.SUCCEEDED:
        lines = [line for attempt in mine for line in whole_lines(records_path(_home(data, attempt), 0))]
        last = max((line["step"] for line in lines if line["kind"] == "metric"), default=0)
        end = {"kind": "status", "phase": "done", "progress": 1.0}
        if last != config.steps or not end.items() <= lines[-1].items():
            yield f"succeeded after step {last} of {config.steps}, its last record being {lines[-1]}"


def _totals(books: Books, run: Row, mine: Sequence[Row], data: Path) -> Iterator[str]:
    """What tables show of each key is what the files hold."""
    files = [file for attempt in mine for file in _home(data, attempt).glob("records.*.jsonl")]
    metrics = [values for file in files for kind, _, _, *values in of_file(file).elements() if kind == "metric"]
    written = Counter(key for (values,) in metrics for key, _ in values)
    if (shown := books.summaries(run["id"])) != dict(written):
        yield f"{sum(shown.values())} points are shown, {written.total()} written"


def _ending(attempt: Row, directory: Path, was_hit: bool, was_starved: bool) -> Iterator[str]:
    """The state is what the agent wrote down; where it could not, somebody had killed it. A full disk is the reason."""
    state, left = State(attempt["state"]), read_json(directory / "exit.json")
    if not state.is_final or attempt["drained_at"] is None:
        yield f"not at rest (drained: {attempt['drained_at']})"
    if left is None and state != State.LOST and directory.exists():
        yield "no exit record, and not called lost"
    if left is not None and (attempt["exit_code"], attempt["exit_signal"]) != (left["code"], left["signal"]):
        yield f"exit {attempt['exit_code']}, {attempt['exit_signal']}, where exit.json says {left}"
    if left is not None and (state == State.SUCCEEDED) != (left["code"] == 0):
        yield f"exit.json says {left}"
    if left is not None and left["code"] != 0 and left["signal"] != signal.SIGKILL and not was_starved:
        yield f"failed by itself: {attempt['reason']}"
    if state != State.SUCCEEDED and not attempt["reason"]:
        yield "no word about why"
    if state != State.SUCCEEDED and not was_hit and not was_starved:
        yield f"nobody hit it, and it ended: {attempt['reason']}"


def _records(books: Books, attempt: Row, directory: Path) -> Iterator[str]:
    """The rows are the whole lines of the files, each once."""
    files = books.files(attempt["id"])
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
        yield from differences(books.connection, attempt["id"], epoch, path)


def _places(data: Path, attempts: Sequence[Row]) -> Iterator[str]:
    """Nothing lies about that no row knows of, and the line is empty."""
    known, there = {a["key"] for a in attempts}, {p.name for p in data.glob("runs/*/esweb-*")}
    if there - known:
        yield f"directories that no row knows: {sorted(there - known)}"
    queue = data / "queue" / "local"
    if waiting := sorted(path.name for path in (queue / "open").glob("*.json")):
        yield f"still in line: {waiting}"
    if strangers := {path.stem for path in (queue / "ended").glob("*.json")} - known:
        yield f"jobs that no row knows: {sorted(strangers)}"
