"""Records that neither the disk nor the server took are counted, on the terminal and on the run."""

from __future__ import annotations

import random
import re
import signal
from pathlib import Path
from typing import Any

import pytest

import esweb_client
from esweb_client.gaps import RESERVE_BYTES
from esweb_client.spool import END, OWNER, RECORDS, RESERVE, SENT, Spool, read_json
from tests.client.conftest import finish
from tests.client.receiver import DROP, TOKEN, Receiver
from tests.client.spool_files import (
    QUIET,
    environment,
    log,
    offline,
    only_spool,
    read_records,
    running,
    send,
    seqs,
)
from tests.small_disks import SmallDisk, needs_small_disk
from tests.waiting import PATIENCE_SECONDS, wait_until

UTC = r"from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d to .*\d\d:\d\d:\d\d UTC"


KILLED = """
run = esweb_client.init('p', id='run-7', **start)
os.write(1, b'.')
sys.stdin.read(1)
for step in range(500):
    run.log({'x': float(step)}, step=step)
os.write(1, b'.')
sys.stdin.read()
"""


def test_records_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esweb_client.spool.MAX_WAITING_BYTES", 1000)
    spool = Spool(None)
    for _ in range(30):
        spool.append(b"x" * 100)
    assert (len(spool.waiting), spool.waiting_bytes, spool.gap.dropped) == (10, 1000, 20)


@needs_small_disk
def test_dropped_records_are_counted_on_the_run(
    disk: SmallDisk, spools: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esweb_client.spool.MAX_WAITING_BYTES", 20_000)
    run = offline(spools)
    disk.fill()
    log(run, 3000)
    disk.make_room()
    log(run, 1, first=3000)
    finish(run)
    send(spools, receiver)
    [(level, message)] = receiver.attempt.alerts
    arrived = receiver.attempt.values("x")
    missing = 3001 - len(arrived)
    assert missing > 1000 and arrived[-1] == 3000.0
    assert level == "error"
    counts = re.fullmatch(
        r"(\d+) records with (\d+) values are missing: the disk of the program \(No space left on device\) "
        rf"and its memory were full {UTC}\.",
        message,
    )
    assert counts is not None
    # The description of the machine may be among them.
    assert int(counts[1]) - missing == int(counts[2]) - 2 * missing in (0, 1)


@needs_small_disk
def test_records_that_neither_disk_nor_server_took_are_counted_on_the_run(
    disk: SmallDisk, spools: Path, away: dict[str, Any], receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    run = esweb_client.init(id="run-7", dir=spools, **away)
    log(run, 10)
    wait_until((only_spool(spools) / RESERVE).exists, "the reserve")
    disk.fill()
    log(run, 3000, first=10)
    run.finish(exit_code=3, reason="no memory", timeout=0.2)
    disk.make_room()
    assert not (only_spool(spools) / END).exists()
    for _ in range(2):
        # A second time as if the first one had been interrupted.
        assert send(spools, receiver).is_complete
        sent = only_spool(spools) / SENT
        sent.write_text(sent.read_text().replace('"ended": true', '"ended": false'))
    arrived = receiver.attempt.values("x")
    assert arrived == [float(step) for step in range(len(arrived))]
    [(level, message)] = receiver.attempt.alerts
    assert level == "error"
    missing = re.fullmatch(
        rf"(\d+) records with (\d+) values are missing: the disk of the program was full {UTC}, and it ended before "
        r"there was room again\.",
        message,
    )
    assert missing is not None
    # The description of the machine may be among them.
    assert int(missing[1]) - (3010 - len(arrived)) in (0, 1)
    assert int(missing[2]) - 2 * (3010 - len(arrived)) in (0, 1)
    assert f"{missing[1]} records are lost: neither the disk nor the server took them" in capsys.readouterr().err
    end = receiver.attempt.end
    assert end is not None and (end["state"], end["exit_code"], end["reason"]) == ("failed", 3, "no memory")


@needs_small_disk
def test_disk_that_is_full_from_start_to_end_is_named_on_the_run(
    disk: SmallDisk, spools: Path, away: dict[str, Any], receiver: Receiver
) -> None:
    disk.fill()
    run = esweb_client.init(id="run-7", dir=spools, **away)
    log(run, 100)
    run.finish(timeout=0)
    disk.make_room()
    assert sorted(file.name for file in only_spool(spools).iterdir()) == [OWNER, RECORDS]
    assert send(spools, receiver, project="p").is_complete
    [(level, message)] = receiver.attempt.alerts
    assert level == "warning"
    assert message.endswith("Records may be missing: the disk had no room for their number.")
    assert (receiver.registrations[0]["id"], receiver.registrations[0]["project"]) == ("run-7", "p")


@needs_small_disk
def test_records_in_the_memory_of_a_killed_program_are_counted_on_the_run(
    disk: SmallDisk, spools: Path, receiver: Receiver
) -> None:
    with running(KILLED, environment(spools)) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.read(1)
        disk.fill()
        process.stdin.write(b".")
        process.stdin.flush()
        process.stdout.read(1)
        folder = only_spool(spools)
        left = lambda: read_json(folder / RESERVE).get("waiting", 0)  # noqa: E731
        wait_until(lambda: left() and left() + len(read_records(folder)) >= 500, "the count of the records that wait")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)
    disk.make_room()
    assert send(spools, receiver).is_complete
    [(level, message)] = receiver.attempt.alerts
    count = int(message.removeprefix("At least ").partition(" ")[0])
    assert level == "error" and message.startswith("At least ")
    assert count - (500 - len(receiver.attempt.values("x"))) in (0, 1)
    assert receiver.attempt.end is not None and receiver.attempt.end["state"] == "interrupted"


@needs_small_disk
def test_records_that_the_server_took_from_memory_are_not_called_missing(
    disk: SmallDisk, spools: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.before = lambda path, body: (503, {}, {}) if path.endswith("/end") else None
    run = esweb_client.init(server_url=receiver.url, token=TOKEN, dir=spools, **QUIET)
    disk.fill()
    log(run, 3000)
    wait_until(lambda: receiver.attempts and len(receiver.attempt.values("x")) == 3000, "the records")
    run.finish(timeout=0.5)
    assert "lost" not in capsys.readouterr().err.replace("they are lost if the program is killed", "")
    receiver.before = lambda path, body: None
    disk.make_room()
    assert send(spools, receiver).is_complete
    assert receiver.attempt.values("x") == [float(step) for step in range(3000)]
    assert receiver.attempt.alerts == []
    assert receiver.attempt.end is not None and receiver.attempt.end["state"] == "succeeded"


@needs_small_disk
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 30))])
def test_every_record_arrives_or_is_counted_as_missing(
    seed: int, disk: SmallDisk, spools: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esweb_client.spool.MAX_WAITING_BYTES", 40_000)
    monkeypatch.setattr("esweb_client.pusher.EVERY_SECONDS", 0.01)
    monkeypatch.setattr("esweb_client.pusher.MAX_PAUSE_SECONDS", 0.05)
    chance = random.Random(seed)
    is_away = False
    receiver.before = lambda path, body: DROP if is_away else None
    if chance.random() < 0.5:
        disk.fill()
    run = esweb_client.init(id="run-7", server_url=receiver.url, token=TOKEN, dir=spools, **QUIET)
    logged = 0
    for _ in range(chance.randrange(3, 12)):
        is_away = chance.random() < 0.5
        disk.fill() if chance.random() < 0.5 else disk.make_room()
        count = chance.randrange(1, 800)
        log(run, count, first=logged)
        logged += count
    is_away = chance.random() < 0.5
    run.finish(timeout=chance.choice([0.0, 0.1, 2.0]))
    disk.make_room()
    is_away = False
    assert send(spools, receiver).is_complete
    arrived = receiver.attempt.values("x")
    assert arrived == sorted(set(arrived))
    missing = [int(message.partition(" ")[0]) for level, message in receiver.attempt.alerts if level == "error"]
    # The description of the machine may be missing too.
    assert len(arrived) + sum(missing) - logged in (0, 1), receiver.attempt.alerts
    assert seqs(receiver) == list(range(len(seqs(receiver))))
    assert receiver.attempt.end is not None and receiver.attempt.end["state"] == "succeeded"


def test_reserve_can_be_overwritten_and_keeps_its_size(spools: Path) -> None:
    run = offline(spools)
    finish(run, reason="é" * 9000)
    assert (only_spool(spools) / RESERVE).stat().st_size == RESERVE_BYTES
