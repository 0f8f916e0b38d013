"""A server that is away, busy or broken delays the records of a run, and neither loses nor doubles one."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import esweb_client
from tests.client.conftest import finish
from tests.client.receiver import DROP, TOKEN, Receiver, Reply, running_receiver
from tests.client.spool_files import only_spool, read_records, values
from tests.waiting import PATIENCE_SECONDS, wait_until

Start = Callable[..., esweb_client.Run]
RECORDS = 40


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between tries; their number stays."""
    monkeypatch.setattr("esweb_client.pusher.EVERY_SECONDS", 0.02)
    monkeypatch.setattr("esweb_client.pusher.MAX_PAUSE_SECONDS", 0.1)


def log(run: esweb_client.Run, count: int = RECORDS, first: int = 0) -> None:
    for step in range(first, first + count):
        run.log({"x": float(step)}, step=step)


def failing(replies: Iterator[Reply], path_part: str) -> Callable[[str, bytes], Reply | None]:
    """Return a fault that replies to the next calls of a path with these replies, and then leaves the server alone."""
    return lambda path, body: next(replies, None) if path_part in path else None


def assert_all_arrived(receiver: Receiver, count: int = RECORDS) -> None:
    assert receiver.attempt.values("x") == [float(step) for step in range(count)]
    assert receiver.attempt.end is not None


def run_values(receiver: Receiver) -> list[float]:
    """Return the values that have arrived so far; none before the run is registered."""
    return receiver.attempt.values("x") if receiver.attempts else []


@pytest.mark.parametrize("path", ["runs", "records", "end", "heartbeat"])
@pytest.mark.parametrize(
    "reply",
    [DROP, (500, {"detail": "broken"}, {}), (503, {}, {}), (429, {"detail": "busy"}, {"Retry-After": "0"})],
    ids=["dropped", "500", "503", "429"],
)
def test_call_that_fails_twice_is_repeated(start: Start, receiver: Receiver, path: str, reply: Reply) -> None:
    receiver.before = failing(iter([reply, reply]), f"/{path}")
    run = start()
    run.config["a"] = 1
    log(run)
    finish(run)
    assert_all_arrived(receiver)


@pytest.mark.parametrize("hangs_up", [False, True], ids=["open", "closed"])
def test_connection_stays_open_between_pushes(start: Start, receiver: Receiver, hangs_up: bool) -> None:
    receiver.hangs_up = hangs_up
    run = start()
    for step in range(10):
        log(run, 1, first=step)
        wait_until(lambda step=step: len(run_values(receiver)) > step, "the arrival of a record")
    finish(run)
    assert_all_arrived(receiver, 10)
    pushes = sum("/records" in path for path, _ in receiver.requests)
    assert pushes >= 10
    # The registration has one of its own.
    assert (receiver.connections == 2) is not hangs_up


def test_proxy_of_the_environment_is_used(start: Start, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", receiver.url)
    run = start(server_url="http://esweb.invalid")
    log(run)
    finish(run)
    assert_all_arrived(receiver)
    assert run.url == "http://esweb.invalid/runs/run0/"


@pytest.mark.parametrize("path", ["runs", "records", "end"])
def test_call_whose_response_is_lost_counts_once(start: Start, receiver: Receiver, path: str) -> None:
    lost = iter([True, True])
    receiver.after = lambda called, reply: DROP if path in called and next(lost, False) else reply
    run = start()
    log(run)
    finish(run)
    assert_all_arrived(receiver)
    assert len(receiver.attempts) == 1


def test_server_that_starts_late_gets_everything(spools: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    settings: dict[str, Any] = {"capture_git": False, "system_metrics_seconds": 0}
    run = esweb_client.init(server_url=f"http://127.0.0.1:{port}", token=TOKEN, dir=spools, **settings)
    log(run)
    wait_until(lambda: run.pusher and run.pusher.failures >= 2, "two tries without a server")
    with running_receiver(port) as receiver:
        finish(run)
        assert_all_arrived(receiver)


def test_server_that_goes_away_gets_the_rest_later(spools: Path) -> None:
    with running_receiver() as receiver:
        run = esweb_client.init(server_url=receiver.url, token=TOKEN, dir=spools, capture_git=False)
        log(run)
        wait_until(lambda: receiver.attempts and len(receiver.attempt.values("x")) == RECORDS, "the first records")
    log(run, first=RECORDS)
    port = int(receiver.url.rpartition(":")[2])
    with running_receiver(port, receiver):
        finish(run)
    assert_all_arrived(receiver, 2 * RECORDS)


def test_expired_token_is_renewed(start: Start, receiver: Receiver) -> None:
    run = start()
    log(run)
    wait_until(lambda: receiver.attempts and len(receiver.attempt.values("x")) == RECORDS, "the first records")
    with receiver.lock:
        receiver.tokens.clear()
    log(run, first=RECORDS)
    finish(run)
    assert_all_arrived(receiver, 2 * RECORDS)
    assert len(receiver.registrations) == 2


def test_piece_that_is_too_large_is_halved(start: Start, receiver: Receiver) -> None:
    def limit(path: str, body: bytes) -> Reply | None:
        return (413, {"detail": "too large"}, {}) if "records" in path and len(body) > 400 else None

    receiver.before = limit
    run = start()
    log(run)
    finish(run)
    assert_all_arrived(receiver)


def test_record_that_is_too_large_is_replaced_by_an_alert(start: Start, receiver: Receiver) -> None:
    def limit(path: str, body: bytes) -> Reply | None:
        return (413, {"detail": "too large"}, {}) if "records" in path and b"y" * 9000 in body else None

    receiver.before = limit
    run = start()
    log(run, 20)
    run.log_responses(["y" * 9000], step=20)
    log(run, 20, first=20)
    finish(run)
    assert_all_arrived(receiver)
    alerts = [record["message"] for record in receiver.attempt.records if record["kind"] == "alert"]
    assert len(alerts) == 1
    assert alerts[0].startswith("The server refused the response record ")


def test_refused_records_are_replaced_by_alerts(start: Start, receiver: Receiver) -> None:
    def refuse(path: str, body: bytes) -> Reply | None:
        if "records" not in path:
            return None
        if not body.endswith(b"\n"):
            return (422, {"problems": [{"path": "values.bad", "message": "is bad"}]}, {}) if b'"bad"' in body else None
        lines = body.splitlines()
        problems = [
            {"path": f"line {number}", "message": "is bad"} for number, line in enumerate(lines, 1) if b'"bad"' in line
        ]
        return (422, {"detail": "invalid", "problems": problems[:20]}, {}) if problems else None

    receiver.before = refuse
    run = start()
    for step in range(60):
        run.log({"bad" if step % 2 else "x": step / 2}, step=step)
    finish(run)
    assert receiver.attempt.values("x") == [float(number) for number in range(30)]
    alerts = [record for record in receiver.attempt.records if record["kind"] == "alert"]
    assert [alert["level"] for alert in alerts] == ["warning"] * 30
    assert all("is bad" in alert["message"] for alert in alerts)
    assert [record["seq"] for record in receiver.attempt.records] == list(range(len(receiver.attempt.records)))


def test_server_that_lost_records_gets_them_again(start: Start, receiver: Receiver) -> None:
    run = start()
    log(run)
    wait_until(lambda: receiver.attempts and len(receiver.attempt.values("x")) == RECORDS, "the first records")
    with receiver.lock:
        del receiver.attempt.records[5:]
    log(run, first=RECORDS)
    finish(run)
    assert_all_arrived(receiver, 2 * RECORDS)


def test_redirect_does_not_get_the_token(start: Start, receiver: Receiver) -> None:
    with running_receiver() as other:
        receiver.before = failing(iter([(307, {}, {"Location": f"{other.url}/api/v1/runs"})]), "/runs")
        run = start()
        log(run)
        finish(run)
        assert_all_arrived(receiver)
        assert other.requests == []


def test_finish_does_not_wait_for_a_server_that_hangs(
    start: Start,
    receiver: Receiver,
    spools: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without its own limit, `finish` would wait as long as a request may take.
    monkeypatch.setattr("esweb_client.pusher.REQUEST_SECONDS", PATIENCE_SECONDS)
    is_called, is_released = threading.Event(), threading.Event()

    def hang(path: str, body: bytes) -> Reply | None:
        is_called.set()
        is_released.wait()
        return DROP

    receiver.before = hang
    run = start()
    log(run)
    assert is_called.wait(PATIENCE_SECONDS)
    run.finish(timeout=0.2)
    assert not is_released.is_set()
    is_released.set()
    folder = only_spool(spools)
    assert values(read_records(folder), "x") == [float(step) for step in range(RECORDS)]
    assert f"It is in {folder}; `esweb sync {spools}` sends it" in capsys.readouterr().err


def test_finish_repeats_refused_connections_until_its_timeout(
    spools: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esweb_client.pusher.MAX_ENDING_PAUSE_SECONDS", 0.05)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        run = esweb_client.init(server_url=address, token=TOKEN, dir=spools, capture_git=False)
        log(run)
        run.finish(timeout=0.5)
    printed = capsys.readouterr().err
    tries = re.search(
        r"not received everything yet after (\d+) tries in \d s \(the server cannot be reached: .*refused", printed
    )
    assert tries is not None and int(tries[1]) > 3
    assert printed.count("cannot be reached") == 2 and f"`esweb sync {spools}` sends it" in printed


def test_finish_reaches_a_server_that_comes_back(spools: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    run = esweb_client.init(server_url=f"http://127.0.0.1:{port}", token=TOKEN, dir=spools, capture_git=False)
    log(run)
    ending = threading.Thread(target=finish, args=(run,))
    ending.start()
    pusher = run.pusher
    assert pusher is not None
    wait_until(lambda: pusher._ending.is_set() and pusher.failures > 5, "tries of the end without a server")
    with running_receiver(port) as receiver:
        ending.join(PATIENCE_SECONDS)
        assert pusher.is_done
        assert_all_arrived(receiver)


def test_wrong_token_is_reported_without_it(start: Start, spools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = start(token="esw_wrong_token")
    log(run)
    wait_until(lambda: run.pusher and run.pusher.failures >= 2, "two refused tries")
    run.finish(timeout=0.2)
    printed = capsys.readouterr().err
    assert printed.count("the server refused: 401 unknown token. Records wait") == 1
    assert "esw_wrong_token" not in printed
