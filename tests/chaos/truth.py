"""What must hold once everything has come to rest. Each look returns sentences about what does not."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.chaos.books import Books, Row
from tests.chaos.watch import Sightings
from workers import records
from workers.attempt import read_json
from workers.config import RunConfig
from workers.executors.states import State
from workers.records import Checkpoint, Line, Metric, Population, Response, Status, records_path

ALL = 1 << 28


def untruths(
    data: Path, launched: Sequence[str], hit: Collection[Path], trained: Mapping[Path, Sightings]
) -> list[str]:
    """All of them. `hit`: attempts whose agent or program was killed; `trained`: who was seen training in each."""
    with Books(data) as books:
        attempts = books.attempts()
        found = [*_runs(books, launched), *_places(data, attempts)]
        for run in books.runs():
            mine = [attempt for attempt in attempts if attempt["run_id"] == run["id"]]
            said = [*_attempts(run, mine, trained, data), *_totals(books, run, mine, data)]
            for attempt in mine:
                home = _home(data, attempt)
                of_it = (*_ending(attempt, home, home in hit), *_records(books, attempt, home))
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
        lines = [line for attempt in mine for line in _lines(_home(data, attempt), 0)]
        last = max((line.record.step for line in lines if isinstance(line.record, Metric)), default=0)
        if last != config.steps or lines[-1].record != Status("done", progress=1.0):
            yield f"succeeded after step {last} of {config.steps}, its last record being {lines[-1].record}"


def _totals(books: Books, run: Row, mine: Sequence[Row], data: Path) -> Iterator[str]:
    """What tables show of each key is what the files hold."""
    files = [file for attempt in mine for file in _home(data, attempt).glob("records.*.jsonl")]
    written = Counter(point[1] for file in files for point in _points(records.read(file, limit=ALL).lines))
    if (shown := books.summaries(run["id"])) != dict(written):
        yield f"{sum(shown.values())} points are shown, {written.total()} written"


def _ending(attempt: Row, directory: Path, was_hit: bool) -> Iterator[str]:
    """The state is what the agent wrote down; where it could not, somebody had killed it."""
    state, left = State(attempt["state"]), read_json(directory / "exit.json")
    if not state.is_final or attempt["drained_at"] is None:
        yield f"not at rest (drained: {attempt['drained_at']})"
    if left is None and state != State.LOST:
        yield "no exit record, and not called lost"
    if left is not None and (attempt["exit_code"], attempt["exit_signal"]) != (left["code"], left["signal"]):
        yield f"exit {attempt['exit_code']}, {attempt['exit_signal']}, where exit.json says {left}"
    if left is not None and (state == State.SUCCEEDED) != (left["code"] == 0):
        yield f"exit.json says {left}"
    if left is not None and left["code"] != 0 and left["signal"] != signal.SIGKILL:
        yield f"failed by itself: {attempt['reason']}"
    if state != State.SUCCEEDED and not attempt["reason"]:
        yield "no word about why"
    if state != State.SUCCEEDED and not was_hit:
        yield f"nobody hit it, and it ended: {attempt['reason']}"


def _records(books: Books, attempt: Row, directory: Path) -> Iterator[str]:
    """The rows are the whole lines of the files, each once."""
    files = books.files(attempt["id"])
    epochs = [epoch for epoch in range(len(files) + 1) if records_path(directory, epoch).exists()]
    if not set(files) <= set(epochs):
        yield f"epochs in the database: {sorted(files)}, in files: {epochs}"
    for epoch in epochs:
        lines, end = _lines(directory, epoch), _whole_bytes(records_path(directory, epoch))
        if [line.seq for line in lines] != list(range(len(lines))):
            yield f"records.{epoch}.jsonl is numbered with gaps"
        if lines and files.get(epoch) != (end, len(lines)):
            yield f"read to {files.get(epoch)} of {(end, len(lines))}"
        yield from _rows(books, attempt["id"], epoch, lines)


def _rows(books: Books, attempt: int, epoch: int, lines: Sequence[Line]) -> Iterator[str]:
    kept, written = books.points(attempt, epoch), Counter(_points(lines))
    if kept != written:
        yield f"{(written - kept).total()} points missing, {(kept - written).total()} too many"
    for kind, table, columns in (
        (Population, "runs_population", ("seq", "step")),
        (Response, "runs_response", ("seq", "step", "split", "sample", "text", "tokens", "reward")),
        (Checkpoint, "runs_checkpoint", ("seq", "step", "path", "bytes", "sha256")),
    ):
        rows = books.kept(table, ", ".join(columns), attempt, epoch)
        expected = [_cells(line, columns) for line in lines if isinstance(line.record, kind)]
        if rows != expected:
            yield f"{len(rows)} {kind.__name__} rows for {len(expected)} records"


def _cells(line: Line, columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(line.seq if name == "seq" else getattr(line.record, name) for name in columns)


def _points(lines: Sequence[Line]) -> Iterator[tuple[int, str, float, str]]:
    for line in lines:
        if isinstance(metric := line.record, Metric):
            axes = {f"axes/{name}": value for name, value in metric.axes.items()}
            for key, value in (metric.values | axes).items():
                yield metric.step, key, line.t, repr(float(value))


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


def _lines(directory: Path, epoch: int) -> list[Line]:
    return records.read(records_path(directory, epoch), limit=ALL).lines


def _whole_bytes(path: Path) -> int:
    return path.read_bytes().rfind(b"\n") + 1
