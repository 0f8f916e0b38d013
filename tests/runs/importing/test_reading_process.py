"""Uploads are read in a process of their own: with the same results, the same messages, and a limit of its cost."""

from __future__ import annotations

import bz2
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.db import connection
from pytest_django.fixtures import Settings

from runs import importing, metrics
from runs.importing import ImportResult, ImportTarget, reading_process, run_import
from runs.importing.files import MB
from runs.importing.stored_sources import Frames, FrameWriter
from runs.models import Attempt, AttemptEvent, Experiment, Import, Response, Run
from tests.processor_time import seconds_of
from tests.runs.importing.event_file_writer import event, scalar, version
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from tests.runs.importing.test_documents import evaluation
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("runs_dir")
LOG = HEADER.format(seed=0) + "".join(map(iteration, (1, 2, 3, 4))) + ENDED
TRL = "{'loss': 0.5, 'reward': -1.0, 'kl': nan, 'step': 1}\n{'loss': 0.25, 'x': oops, 'step': 2}\n"
REPORT = [{"alpha": 0.0005, "sigma": 0.01, "aggregate_reward_mean": -3.0, "num_seeds": 2}]
FILES: dict[str, bytes] = {
    "es/a.log": (LOG + "Iteration 9/4, Time: ##\n" + HEADER.format(seed=1) + iteration(1)).encode(),
    "trl/b.log.bz2": bz2.compress(TRL.encode()),
    "eval.json": json.dumps(evaluation()).encode(),
    "report.json": json.dumps(REPORT).encode(),
    "tb/events": version() + b"".join(event(n, scalar("train/loss", 1.0 / n)) for n in range(1, 5)),
    "t.csv": b"step,a\n1,2\n2,x\n",
    "runs.csv": b"run,step,_timestamp,a\nx,1,1700000000,1\ny,1,1700000005,z\ny,2,1700000015,3\nx,2,1700000010,2\n",
    "m_points.jsonl": b'{"prompt": "p", "response": "\xc3\xa9", "reward": 1, "cost": -1}\n{"prompt": 1}\n',
    "state.json": b'{"log_history": [{"step": 1, "loss": 1.0}, {"step": 2, "loss": NaN}], "max_steps": 2}',
    "wide.log": LOG.replace("0.0005", "0.0007").encode("utf-16"),
    "no.md": b"# no\n",
    "cut.json": b'{"seed_results": {"0": {"reward": {"mean": 1}, "completions": [{"question": "a", "compl',
}
SLOW = b"x\n" * 700_000
"""A log that takes several CPU-seconds to read."""


def upload(person: User, files: dict[str, bytes], name: str = "Imported") -> ImportResult:
    """Import files as the page and the API do."""
    uploads = [SimpleUploadedFile(path, data) for path, data in files.items()]
    return importing.import_uploads(uploads, list(files), ImportTarget(person, name))


def import_here(person: User, files: dict[str, bytes], name: str) -> ImportResult:
    """Import files as the command does, in this process."""
    with ExitStack() as stack:
        budget = importing.Budget()
        read = [
            file
            for path, data in files.items()
            for file in importing.files_from_upload(SimpleUploadedFile(path, data), len(data), path, stack, budget)
        ]
        return importing.import_runs(read, ImportTarget(person, name))


def contents(result: ImportResult) -> Any:
    """Return everything that an import stored, and its report, without ids and times."""
    runs = Run.objects.filter(experiment=result.experiment).order_by("pk")
    stored = [
        (run.name, run.method, run.seed, run.config, run.state, run.preset, run.tags, run.note)
        for run in runs.select_related("parent")
    ]
    attempts = Attempt.objects.filter(run__in=runs).order_by("run__pk")
    curves = [
        (curve.key, curve.x.tolist(), list(map(str, curve.y)))
        for run in runs
        for curve in metrics.read([run], metrics.keys(run))
    ]
    imports = Import.objects.filter(run__in=runs).order_by("run__pk")
    responses = Response.objects.filter(run__in=runs).order_by("pk")
    return (
        stored,
        list(attempts.values_list("state", "reason", "native_id")),
        list(AttemptEvent.objects.filter(attempt__in=attempts).order_by("pk").values_list("level", "why")),
        list(imports.values_list("kind", "name", "sha256", "bytes", "part")),
        list(responses.values_list("split", "step", "text", "reward", "parts")),
        [attempt.directory.joinpath("log.txt").is_file() for attempt in attempts],
        curves,
        [(outcome.name, outcome.kinds, outcome.records, outcome.report) for outcome in result.outcomes],
        result.refused,
        result.report,
        [[run.name for run in listed] for listed in (result.new_runs, result.joined, result.replaced)],
    )


def test_uploads_are_imported_as_by_the_command(ada: User) -> None:
    uploaded, imported = contents(upload(ada, FILES, "One")), contents(import_here(ada, FILES, "Two"))
    assert uploaded == imported


def test_uploads_are_read_outside_of_this_process(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(ada, {"first.log": LOG.encode()})

    def read_here(*_: object) -> None:
        raise AssertionError("a file was read in the web's process")

    monkeypatch.setattr(run_import, "recognise_sources", read_here)
    assert len(upload(ada, {"a.log": LOG.replace("seed: 0", "seed: 5").encode()}).new_runs) == 1


def test_growing_log_continues_its_run_within_and_between_uploads(ada: User) -> None:
    early = HEADER.format(seed=0) + iteration(1)
    within = upload(ada, {"1.log": early.encode(), "2.log": (early + iteration(2)).encode()})
    assert (len(within.new_runs), len(within.continued_runs)) == (1, 1)
    between = upload(ada, {"2.log": LOG.encode()})
    assert (len(between.new_runs), len(between.continued_runs), Run.objects.count()) == (0, 1, 1)


def test_large_upload_on_the_disk_is_read_where_it_lies(ada: User) -> None:
    stored = TemporaryUploadedFile("a.log", "text/plain", len(LOG), None)
    stored.write(LOG.encode())
    result = importing.import_uploads([stored], [], ImportTarget(ada, "Imported"))
    assert [run.state for run in result.new_runs] == ["succeeded"]


def test_slow_file_is_refused_with_its_limit_and_others_are_imported(ada: User, settings: Settings) -> None:
    settings.IMPORT_CPU_SECONDS = 1
    results: list[ImportResult] = []
    own_seconds = seconds_of(lambda: results.append(upload(ada, {"a.log": LOG.encode(), "b.log": SLOW, "c.log": SLOW})))
    assert own_seconds < 0.5, "the file was read here"
    (result,) = results
    reasons = {file.name: file.reason for file in result.refused}
    limit = "took more than 1 CPU-seconds (at most 1, ESWEB_IMPORT_CPU_SECONDS)"
    assert len(result.new_runs) == 1
    assert reasons == {
        "b.log": f"cannot be read: reading this file {limit}",
        "c.log": f"cannot be read: it was not read, since a file before it {limit}",
    }


def test_file_that_needs_much_memory_is_refused_with_its_limit(ada: User, settings: Settings) -> None:
    upload(ada, {"a.log": LOG.encode()})
    status = Path(f"/proc/{reading_process.server.pid}/statm").read_text(encoding="utf-8")
    settings.IMPORT_MEMORY_MB = int(status.split()[0]) * os.sysconf("SC_PAGESIZE") // MB + 100
    result = upload(ada, {"a.json": b'{"seed_results": {}, "a": [' + b"[]," * 2_000_000 + b"[]]}"})
    assert "ESWEB_IMPORT_MEMORY_MB" in result.refused[0].reason


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Return a list to which each wait for a reading process adds this thread's connection to the database."""
    seen: list[object] = []
    wait: Callable[..., Any] = reading_process._wait

    def watch(*arguments: Any) -> Any:
        seen.append(connection.connection)
        return wait(*arguments)

    monkeypatch.setattr(reading_process, "_wait", watch)
    yield seen


@pytest.mark.django_db(transaction=True)
def test_connection_is_free_while_a_file_is_read(watched: list[object]) -> None:
    person = User.objects.create(username="eve")
    assert len(upload(person, {"a.log": LOG.encode()}).new_runs) == 1
    assert watched == [None]
    Experiment.objects.all().delete()


def test_server_that_was_killed_is_started_again(ada: User) -> None:
    upload(ada, {"a.log": LOG.encode()})
    pid = reading_process.server.pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: reading_process.server.pid != pid, "the server to end")
    assert len(upload(ada, {"a.log": LOG.encode()}).known_runs) == 1


@pytest.mark.parametrize("others", ["own", "all"])
def test_import_without_a_slot_is_refused(others: str, ada: User, settings: Settings) -> None:
    settings.IMPORT_SECONDS = 0.05
    users = [ada.pk] if others == "own" else [-1 - n for n in range(reading_process.MAX_CONCURRENT)]
    with ExitStack() as stack:
        assert all(stack.enter_context(reading_process.slots.slot(user, 0)) for user in users)
        result = upload(ada, {"a.log": LOG.encode()})
    assert result.refused[0].reason == "was not read: other imports are being read; try again later"


def test_frames_hold_plain_data_only(tmp_path: Path) -> None:
    with (tmp_path / "frames").open("w+b") as file:
        with pytest.raises(TypeError, match="is not plain data"):
            FrameWriter(file).write(0, {"a": Path("a")})
        assert not [*Frames(file, 0)]
