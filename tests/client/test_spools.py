"""What a program logged survives its death, a full disk, forks and a missing network, and is sent later, once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

import esweb_client
from esweb_client.leftovers import find_spools
from esweb_client.spool import END, RECORDS, SENT
from esweb_client.sync import FAILED, KNOWN_SENT, LIVE
from esweb_client.sync import SENT as JUST_SENT
from tests.client.conftest import finish
from tests.client.receiver import TOKEN, Receiver
from tests.client.spool_files import (
    CLIENT,
    QUIET,
    environment,
    offline,
    only_spool,
    program,
    read_records,
    running,
    send,
    seqs,
    values,
)  # fmt: skip
from tests.waiting import PATIENCE_SECONDS

LOGGER = """
run = esweb_client.init(**start)
for step in range(100_000):
    run.log({'x': float(step), 'y': 0.5}, step=step)
    os.write(1, b'.')
"""


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 10))])
def test_killed_program_loses_no_record(seed: int, spools: Path, receiver: Receiver) -> None:
    count = random.Random(seed).randrange(1, 3000)
    with running(LOGGER, environment(spools, receiver if seed % 2 else None)) as process:
        assert process.stdout is not None
        logged = len(process.stdout.read(count))
        process.send_signal(signal.SIGKILL)
        logged += len(process.stdout.read())
    assert send(spools, receiver).count(JUST_SENT) == 1
    arrived = receiver.attempt.values("x")
    assert arrived == [float(step) for step in range(len(arrived))]
    # The program may be killed after a call returned, before it said so.
    assert logged <= len(arrived) <= logged + 1
    assert receiver.attempt.end is not None
    assert receiver.attempt.end["state"] == "interrupted"


def test_spool_of_a_living_program_is_left_alone(spools: Path, receiver: Receiver) -> None:
    with running(f"{LOGGER}    if step == 9: sys.stdin.read()", environment(spools)) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        assert send(spools, receiver).count(LIVE) == 1
        assert receiver.attempts == {}


def test_offline_runs_are_sent_in_the_order_of_their_starts(spools: Path, receiver: Receiver) -> None:
    for number in range(3):
        run = offline(spools, id="my-run", project="p")
        run.log({"x": float(number)})
        run.config["number"] = number
        run.summary["best"] = number
        finish(run)
    result = send(spools, receiver)
    assert (result.count(JUST_SENT), result.is_complete) == (3, True)
    attempts = [receiver.attempts[f"esweb-run0-a{number}"] for number in (1, 2, 3)]
    assert [attempt.values("x") for attempt in attempts] == [[0.0], [1.0], [2.0]]
    assert [attempt.end and attempt.end["summary"] for attempt in attempts] == [{"best": n} for n in range(3)]
    assert [request["config"]["number"] for request in receiver.registrations] == [0, 1, 2]


def test_sync_is_repeated_without_doubles(spools: Path, receiver: Receiver) -> None:
    run = offline(spools)
    run.log({"x": 1.0})
    finish(run)
    folder = only_spool(spools)
    send(spools, receiver)
    assert send(spools, receiver).count(KNOWN_SENT) == 1
    (folder / SENT).unlink()
    assert send(spools, receiver).count(JUST_SENT) == 1
    assert receiver.attempt.values("x") == [1.0]
    assert seqs(receiver) == list(range(len(seqs(receiver))))


def test_clean_deletes_what_was_sent(spools: Path, receiver: Receiver) -> None:
    finish(offline(spools))
    send(spools, receiver)
    assert len(find_spools(spools)) == 1
    send(spools, receiver, clean=True)
    assert list(spools.iterdir()) == []


def test_spool_stays_when_the_server_refuses(spools: Path, receiver: Receiver) -> None:
    finish(offline(spools))
    receiver.before = lambda path, body: (403, {"detail": "scope"}, {})
    result = send(spools, receiver, clean=True)
    assert (result.count(FAILED), result.spools[0].message) == (1, "403 scope")
    assert len(find_spools(spools)) == 1


def test_torn_and_broken_lines_are_skipped(spools: Path, receiver: Receiver) -> None:
    run = offline(spools)
    run.log({"x": 1.0})
    finish(run)
    folder = only_spool(spools)
    valid = b'{"t":1.5,"kind":"metric","step":%d,"values":{"x":%d.0}}\n'
    with (folder / RECORDS).open("ab") as file:
        # A record of another process follows a torn line; then zeros of a power cut, and a torn end.
        file.write(b'{"t":1.5,"kind":"met' + valid % (2, 2) + b"\x00\x00\n\n" + valid % (3, 3) + b'{"t":1.5,"ki')
    send(spools, receiver)
    assert receiver.attempt.values("x") == [1.0, 2.0, 3.0]


def test_leftovers_of_a_run_are_sent_by_its_next_start(spools: Path, receiver: Receiver) -> None:
    for number in range(2):
        run = offline(spools, id="my-run")
        run.log({"x": float(number)})
        finish(run)
    online = {"server_url": receiver.url, "token": TOKEN, "dir": spools}
    third = esweb_client.init(id="my-run", **online, **QUIET)
    receiver.wait_for_end(2)
    third.log({"x": 2.0})
    finish(third)
    attempts = [receiver.attempts[f"esweb-run0-a{number}"] for number in (1, 2, 3)]
    assert [attempt.values("x") for attempt in attempts] == [[0.0], [1.0], [2.0]]


def test_leftover_that_the_server_refuses_does_not_stop_the_run(spools: Path, receiver: Receiver) -> None:
    finish(offline(spools, id="my-run", note="refused"))
    receiver.before = lambda path, body: (422, {"detail": "note"}, {}) if b'"note": "refused"' in body else None
    run = esweb_client.init(id="my-run", server_url=receiver.url, token=TOKEN, dir=spools, **QUIET)
    run.log({"x": 1.0})
    finish(run)
    assert receiver.attempt.values("x") == [1.0]


def test_run_without_any_disk_reports_from_memory(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "no folder"
    file.touch()
    monkeypatch.setattr("tempfile.tempdir", str(file))
    run = esweb_client.init(server_url=receiver.url, token=TOKEN, dir=file, **QUIET)
    for step in range(2500):
        run.log({"x": float(step)}, step=step)
    finish(run)
    assert run.folder is None
    assert receiver.attempt.values("x") == [float(step) for step in range(2500)]


FORKS = """
import multiprocessing
run = esweb_client.init(**start)
def child(number):
    for step in range(200):
        esweb_client.log({f'child{number}': float(step)}, step=step)
workers = [multiprocessing.get_context('fork').Process(target=child, args=(number,)) for number in range(3)]
[worker.start() for worker in workers]
child('parent')
[worker.join() for worker in workers]
pid = os.fork()
if pid == 0:
    child('os')
    run.finish()
    sys.exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize("is_online", [True, False], ids=["online", "offline"])
def test_forked_processes_log_to_the_run(is_online: bool, spools: Path, receiver: Receiver) -> None:
    result = subprocess.run(
        program(FORKS), env=environment(spools, receiver if is_online else None), capture_output=True,
        timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    send(spools, receiver)
    steps = [float(step) for step in range(200)]
    assert (result.returncode, result.stderr.count(b"Error")) == (0, 0), result.stderr.decode()
    for name in ("child0", "child1", "child2", "childparent", "childos"):
        assert receiver.attempt.values(name) == steps
    assert receiver.attempt.ends == 1
    assert seqs(receiver) == list(range(len(seqs(receiver))))


def test_spawned_process_logs_nothing(spools: Path, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent("""
        import esweb_client, multiprocessing, os
        def child():
            esweb_client.log({'x': 1.0}, step=1)
        if __name__ == '__main__':
            with esweb_client.init(mode='offline', dir=os.environ['SPOOLS'], capture_git=False):
                worker = multiprocessing.get_context('spawn').Process(target=child)
                worker.start()
                worker.join()
                assert worker.exitcode == 0
        """)
    )
    result = subprocess.run(
        [sys.executable, str(script)],
        env=environment(spools),
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert b"esweb_client.log has no effect before esweb_client.init()" in result.stderr
    assert values(read_records(only_spool(spools)), "x") == []


def test_terminated_program_leaves_its_spool(spools: Path, receiver: Receiver) -> None:
    with running(f"{LOGGER}    if step == 9: sys.stdin.read()", environment(spools)) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == -signal.SIGTERM
    assert not (only_spool(spools) / END).exists()
    send(spools, receiver)
    assert receiver.attempt.values("x") == [float(step) for step in range(10)]


def test_client_alone_logs_offline(spools: Path, tmp_path: Path) -> None:
    archive = tmp_path / "esweb_client.zip"
    with zipfile.ZipFile(archive, "w") as wheel:
        for file in (CLIENT / "esweb_client").rglob("*.py"):
            wheel.write(file, file.relative_to(CLIENT))
    text = f"""
import sys
sys.path[:] = [{str(archive)!r}, *[path for path in sys.path if 'site-packages' not in path]]
import esweb_client
with esweb_client.init(mode='offline', dir={str(spools)!r}) as run:
    run.log({{'x': 1.0}})
"""
    subprocess.run([sys.executable, "-I", "-S", "-W", "error", "-c", text], timeout=PATIENCE_SECONDS, check=True)
    assert values(read_records(only_spool(spools)), "x") == [1.0]
