"""A spool of which a full disk or a power cut took a part is sent as far as it is there, or listed by its folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import esweb_client
from esweb_client.reader import RECORD_START
from esweb_client.spool import META, RECORDS, SENT, read_json
from esweb_client.sync import FAILED, sync
from esweb_client.sync import SENT as JUST_SENT
from tests.client.conftest import finish
from tests.client.receiver import TOKEN, Receiver
from tests.client.spool_files import (
    QUIET,
    log,
    offline,
    only_spool,
    send,
    seqs,
)


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def tear(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:40])


@pytest.mark.parametrize("damage", [remove, empty, tear])
def test_lost_settings_are_rebuilt(
    damage: Callable[[Path], None], spools: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESWEB_PROJECT", "of the environment")
    run = offline(spools, project="p", id="run-7", config={"lr": 1})
    run.config["late"] = 2
    log(run, 3)
    finish(run)
    folder = only_spool(spools)
    damage(folder / META)
    result = send(spools, receiver)
    assert (result.count(JUST_SENT), result.is_complete, result.spools[0].run_id) == (1, True, "run-7")
    request = receiver.registrations[0]
    assert (request["id"], request["start"], request["project"]) == ("run-7", folder.name, "of the environment")
    # The state of the run, which `finish` stores, has the config.
    assert request["config"] == {"lr": 1, "late": 2}
    assert receiver.attempt.values("x") == [0.0, 1.0, 2.0]
    [(level, message)] = receiver.attempt.alerts
    assert level == "warning" and message.startswith("meta.json of this start was lost. It is rebuilt from the folder")
    assert read_json(folder / META)["request"]["start"] == folder.name


def test_lost_settings_are_those_of_another_start_or_of_the_option(spools: Path, receiver: Receiver) -> None:
    for _ in range(2):
        finish(offline(spools, project="p", id="run-7", group="g"))
    first, second = sorted((spools / "run-7").iterdir())
    (first / META).unlink()
    assert send(spools, receiver).is_complete
    assert {(request["project"], request["group"]) for request in receiver.registrations} == {("p", "g")}
    (second / META).unlink()
    (second / SENT).unlink()
    send(spools, receiver, project="another")
    assert receiver.registrations[-1]["project"] == "another"


def test_next_start_sends_a_spool_whose_settings_are_lost(spools: Path, receiver: Receiver) -> None:
    run = offline(spools, id="run-7")
    log(run, 3)
    finish(run)
    (only_spool(spools) / META).unlink()
    online = {"server_url": receiver.url, "token": TOKEN, "dir": spools}
    second = esweb_client.init("p", id="run-7", **online, **QUIET)
    receiver.wait_for_end(1)
    finish(second)
    assert receiver.attempts["esweb-run0-a1"].values("x") == [0.0, 1.0, 2.0]
    assert {request["project"] for request in receiver.registrations} == {"p"}


def test_folder_that_cannot_be_sent_is_listed(
    spools: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    finish(offline(spools, id="run-7"))
    nameless = only_spool(spools).rename(spools / "run-7" / "a copy")
    (nameless / META).unlink()
    secret = spools / "of another user"
    secret.mkdir()
    scan = os.scandir

    def refuse(folder: Any) -> Any:
        if Path(folder) == secret:
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    # Tests run as root, whom no mode of a folder stops.
    monkeypatch.setattr(os, "scandir", refuse)
    lines: list[str] = []
    result = sync(spools, (receiver.url, TOKEN), lines.append)
    assert (result.count(FAILED), result.is_complete) == (2, False)
    assert lines == [
        f"of another user: failed (the folder cannot be read: Permission denied), {secret}",
        "run-7: failed (meta.json is missing or damaged, and the folder's name is not of the form RUN/START, START "
        f"being 32 of 0-9, a-f: move it to where it was recorded), {nameless}",
    ]
    assert receiver.attempts == {}


def test_unreadable_records_are_reported_and_do_not_stop_the_others(spools: Path, receiver: Receiver) -> None:
    for name in ("first", "second"):
        finish(offline(spools, id=name))
    [records] = (spools / "first").glob(f"*/{RECORDS}")
    records.unlink()
    records.mkdir()
    result = send(spools, receiver)
    assert {spool.run_id: spool.status for spool in result.spools} == {"first": FAILED, "second": JUST_SENT}
    assert "the spool cannot be read" in result.spools[0].message


def test_records_after_the_end_are_sent_by_the_next_sync(spools: Path, receiver: Receiver) -> None:
    run = offline(spools)
    log(run, 3)
    finish(run)
    send(spools, receiver)
    with (only_spool(spools) / RECORDS).open("ab") as file:
        file.write(RECORD_START + b'1.5,"kind":"metric","step":3,"values":{"x":3.0}}\n')
    assert send(spools, receiver).count(JUST_SENT) == 1
    assert receiver.attempt.values("x") == [0.0, 1.0, 2.0, 3.0]
    assert seqs(receiver) == list(range(len(seqs(receiver))))


def test_record_after_the_end_is_refused_with_a_warning(spools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = offline(spools)
    finish(run)
    log(run, 3)
    assert capsys.readouterr().err.count("what is logged after its end is dropped") == 1


def test_fallback_folder_is_named(
    spools: Path,
    tmp_path: Path,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spools.touch()
    run = offline(spools, id="run-7")
    log(run, 3)
    finish(run)
    fallback = tmp_path / f"esweb-runs-{os.getuid()}"
    printed = capsys.readouterr().err
    assert f"records are stored in {fallback} instead" in printed and f"`esweb sync {fallback}` sends it." in printed
    spools.unlink()
    second = esweb_client.init(id="run-7", server_url=receiver.url, token=TOKEN, dir=spools, **QUIET)
    receiver.wait_for_end(1)
    finish(second)
    assert receiver.attempts["esweb-run0-a1"].values("x") == [0.0, 1.0, 2.0]
