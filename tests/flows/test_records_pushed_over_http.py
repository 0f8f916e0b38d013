"""A remote run pushes its records over HTTP: each arrives once despite failures on the way."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User

from esweb.middleware.back_pressure import BackPressure, PushSlots
from runs import access, launching
from runs.models import Attempt, Cluster, Experiment, RecordFile, Series
from tests.waiting import PATIENCE_SECONDS
from workers.client import push_records
from workers.client.push import PIECE_LINES, Busy, Pusher, Refused
from workers.config import RunConfig, TrackingConfig, preset
from workers.records import Metric, RecordWriter

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def patient_push(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run wait for its last records as long as a busy machine takes."""
    monkeypatch.setattr("workers.client.push.PATIENCE_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def attempt(experiment: Experiment, ada: User, local: Cluster) -> Attempt:
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(preset("es-micro").config))
    return run.attempts.get()


@pytest.fixture
def directory(tmp_path: Path, attempt: Attempt) -> Path:
    return tmp_path / attempt.key


@pytest.fixture
def tracking(live_server: Any, tmp_path: Path, attempt: Attempt, ada: User) -> TrackingConfig:
    _, text = access.issue(ada, "ingest", run=attempt.run)
    (tmp_path / "token").write_text(text)
    return TrackingConfig(push_url=live_server.url, token_file=str(tmp_path / "token"))


def write(records: RecordWriter, steps: range) -> None:
    for step in steps:
        records.write(Metric(step, {"x": float(step)}))


def test_records_arrive_during_and_after_run(tracking: TrackingConfig, directory: Path, attempt: Attempt) -> None:
    with RecordWriter(directory, 0) as records, push_records(tracking, directory, 0):
        write(records, range(50))
    series = Series.objects.get(run=attempt.run, key="x")
    assert (series.points, series.last_value) == (50, 49.0)


def test_repeated_piece_is_stored_once(tracking: TrackingConfig, directory: Path, attempt: Attempt) -> None:
    with RecordWriter(directory, 0) as records:
        write(records, range(20))
    for _ in range(2):
        assert Pusher(tracking, directory, 0).send()
    assert Series.objects.get(run=attempt.run, key="x").points == 20


def test_pusher_returns_to_expected_record(tracking: TrackingConfig, directory: Path, attempt: Attempt) -> None:
    with RecordWriter(directory, 0) as records:
        write(records, range(20))
    pusher = Pusher(tracking, directory, 0)
    pusher.offset = pusher._offset_of(7)
    assert pusher.send()
    assert pusher.offset == 0
    assert pusher.send()
    assert RecordFile.objects.get(attempt=attempt).next_seq == 20


def test_too_large_piece_is_halved(
    tracking: TrackingConfig, directory: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.ingest.record_body.MAX_WORK", 100)
    with RecordWriter(directory, 0) as records, push_records(tracking, directory, 0):
        write(records, range(50))
    assert Series.objects.get(run=attempt.run, key="x").points == 50


def test_too_large_record_is_refused(
    tracking: TrackingConfig, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.ingest.record_body.MAX_WORK", 5)
    with RecordWriter(directory, 0) as records:
        write(records, range(2))
    pusher = Pusher(tracking, directory, 0)
    assert pusher.send()
    assert pusher.max_lines == 1
    with pytest.raises(Refused, match=r"413.*alone exceeds the limit of a push"):
        pusher.send()


def test_piece_has_limited_lines(tracking: TrackingConfig, directory: Path, attempt: Attempt) -> None:
    with RecordWriter(directory, 0) as records:
        write(records, range(PIECE_LINES + 1))
    assert Pusher(tracking, directory, 0).send()
    assert Series.objects.get(run=attempt.run, key="x").points == PIECE_LINES


def test_run_continues_when_its_token_is_refused(
    tracking: TrackingConfig, directory: Path, attempt: Attempt, capfd: pytest.CaptureFixture[str]
) -> None:
    Path(tracking.token_file).write_text("esw_wrong")
    with RecordWriter(directory, 0) as records:
        write(records, range(3))
        with pytest.raises(Refused, match="401"):
            Pusher(tracking, directory, 0).send()
        with push_records(tracking, directory, 0):
            write(records, range(3, 6))
    assert "no longer pushed" in capfd.readouterr().err
    assert not RecordFile.objects.filter(attempt=attempt).exists()


def test_unreachable_server_does_not_stop_run(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    away = TrackingConfig(push_url="http://127.0.0.1:9")
    with RecordWriter(directory, 0) as records, push_records(away, directory, 0):
        write(records, range(3))
    assert "retrying in" in capfd.readouterr().err


def test_push_url_without_http_is_refused(directory: Path) -> None:
    with pytest.raises(ValueError, match="http"):
        Pusher(TrackingConfig(push_url="file:///etc"), directory, 0)


def test_busy_server_is_awaited_at_end(
    tracking: TrackingConfig, directory: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots, pauses = PushSlots(1, 0, 0.01), list[float]()
    monkeypatch.setattr(BackPressure, "slots", slots)
    # With this interval nothing is sent before the end.
    monkeypatch.setattr("workers.client.push.EVERY_SECONDS", PATIENCE_SECONDS)
    with ExitStack() as stack:
        stack.enter_context(slots.occupied())

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            stack.close()

        monkeypatch.setattr("workers.client.push.time", SimpleNamespace(sleep=pause))
        with RecordWriter(directory, 0) as records, push_records(tracking, directory, 0):
            write(records, range(10))
    assert pauses == [1.0]
    assert Series.objects.get(run=attempt.run, key="x").points == 10


def test_server_decides_retry_delay(tracking: TrackingConfig, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slots = PushSlots(1, 0, 0.01)
    monkeypatch.setattr(BackPressure, "slots", slots)
    with RecordWriter(directory, 0) as records:
        write(records, range(3))
    with slots.occupied(), pytest.raises(Busy, match="retrying in 1 s") as busy:
        Pusher(tracking, directory, 0).send()
    assert busy.value.seconds == 1
