"""A full disk delays the records of a run, and says so at once. None is lost, doubled or reordered by it."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest

import esweb_client
from esweb_client.spool import Spool
from esweb_client.sync import SENT as JUST_SENT
from tests.client.conftest import finish
from tests.client.receiver import TOKEN, Receiver
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
    values,
)
from tests.small_disks import SmallDisk, needs_small_disk, small_disk
from tests.waiting import PATIENCE_SECONDS, wait_until

UTC = r"from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d to .*\d\d:\d\d:\d\d UTC"


@needs_small_disk
def test_records_wait_for_room_on_a_full_disk(spools: Path, receiver: Receiver) -> None:
    spools.mkdir()
    with small_disk(spools, 1) as disk:
        run = offline(spools)
        run.log({"x": 0.0}, step=0)
        disk.fill()
        for step in range(1, 3000):
            run.log({"x": float(step)}, step=step)
        folder = only_spool(spools)
        assert len(values(read_records(folder), "x")) < 3000
        disk.make_room()
        run.log({"x": 3000.0}, step=3000)
        wait_until(lambda: len(values(read_records(folder), "x")) == 3001, "the records that waited")
        finish(run)
        send(spools, receiver)
    assert receiver.attempt.values("x") == [float(step) for step in range(3001)]
    assert seqs(receiver) == list(range(len(seqs(receiver))))


@needs_small_disk
def test_records_are_sent_while_the_disk_is_full(spools: Path, receiver: Receiver) -> None:
    spools.mkdir()
    with small_disk(spools, 1) as disk:
        run = esweb_client.init(server_url=receiver.url, token=TOKEN, dir=spools, **QUIET)
        disk.fill()
        for step in range(3000):
            run.log({"x": float(step)}, step=step)
        wait_until(lambda: receiver.attempts and len(receiver.attempt.values("x")) == 3000, "the records")
        disk.make_room()
        run.log({"x": 3000.0}, step=3000)
        finish(run)
        assert values(read_records(only_spool(spools)), "x") == [float(step) for step in range(3001)]
    assert receiver.attempt.values("x") == [float(step) for step in range(3001)]
    assert seqs(receiver) == list(range(len(seqs(receiver))))


@needs_small_disk
def test_start_on_a_full_disk_is_sent_once_there_is_room(
    disk: SmallDisk, spools: Path, away: dict[str, Any], receiver: Receiver
) -> None:
    disk.fill()
    run = esweb_client.init("p", id="run-7", config={"lr": 1}, dir=spools, **away)
    disk.make_room()
    log(run, 500)
    run.finish(timeout=0.2)
    result = send(spools, receiver)
    assert (result.count(JUST_SENT), result.is_complete) == (1, True)
    assert receiver.attempt.values("x") == [float(step) for step in range(500)]
    request = receiver.registrations[0]
    assert (request["id"], request["project"], request["config"]) == ("run-7", "p", {"lr": 1})
    assert receiver.attempt.end is not None and receiver.attempt.end["state"] == "succeeded"


KILLED = """
run = esweb_client.init('p', id='run-7', **start)
os.write(1, b'.')
sys.stdin.read(1)
for step in range(500):
    run.log({'x': float(step)}, step=step)
os.write(1, b'.')
sys.stdin.read()
"""


@needs_small_disk
def test_start_on_a_full_disk_is_sent_after_a_kill(disk: SmallDisk, spools: Path, receiver: Receiver) -> None:
    disk.fill()
    with running(KILLED, environment(spools)) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.read(1)
        disk.make_room()
        process.stdin.write(b".")
        process.stdin.flush()
        process.stdout.read(1)
        wait_until(lambda: len(values(read_records(only_spool(spools)), "x")) == 500, "the records that waited")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)
    result = send(spools, receiver)
    assert (result.count(JUST_SENT), result.is_complete) == (1, True)
    assert receiver.attempt.values("x") == [float(step) for step in range(500)]
    assert receiver.registrations[0]["project"] == "p"


@needs_small_disk
def test_full_disk_is_reported_at_once_and_in_one_line(
    disk: SmallDisk, spools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = offline(spools)
    disk.fill()
    log(run, 2000)
    printed = capsys.readouterr().err
    assert printed.count("cannot be written: No space left on device. Up to 64 MB of records wait in memory") == 1
    assert printed.count("\n") == 1
    finish(run)


@needs_small_disk
def test_records_that_waited_are_reported_as_stored(disk: SmallDisk, spools: Path, receiver: Receiver) -> None:
    run = offline(spools)
    disk.fill()
    log(run, 3000)
    disk.make_room()
    finish(run)
    send(spools, receiver)
    [(level, message)] = receiver.attempt.alerts
    assert level == "info"
    assert re.fullmatch(
        rf"The disk of the program was full {UTC} \(No space left on device\): (\d+) records with \d+ values waited in "
        "memory and are stored now. None is missing.",
        message,
    )
    assert receiver.attempt.values("x") == [float(step) for step in range(3000)]


@needs_small_disk
@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "forked"])
@pytest.mark.parametrize("missing_bytes", [1, 2, 30])
def test_torn_line_is_neither_lost_nor_doubled(
    missing_bytes: int, is_shared: bool, disk: SmallDisk, spools: Path
) -> None:
    spool = Spool(spools / "run-7" / ("0" * 32))
    assert spool.folder is not None
    spool.is_shared = is_shared
    line = b'{"t":1.5,"kind":"metric","step":%d,"values":{"x":%d.0}}\n'
    # A tmpfs has pages of 4096 bytes: the file may still grow to the end of its last one when the disk is full.
    padding = 4096 - len(line % (0, 0)) - (len(line % (1, 1)) - missing_bytes)
    spool.append(line % (0, 0))
    spool.append(b" " * (padding - 1) + b"\n")
    disk.fill()
    for number in (1, 2, 3):
        spool.append(line % (number, number))
    disk.make_room()
    spool.append(line % (4, 4))
    spool.close()
    assert values(read_records(spool.folder), "x") == [0.0, 1.0, 2.0, 3.0, 4.0]
