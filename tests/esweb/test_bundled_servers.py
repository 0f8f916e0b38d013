"""The bundled PostgreSQL and Valkey: first start, stop, crash, leftovers, long paths."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from esweb.embedded import (
    CannotStart,
    Postgres,
    Valkey,
    child_process,
    database_url,
    hold,
    postgres,
    redis_url,
    socket_folder,
    sockets,
)
from esweb.embedded.lock import try_lock
from esweb.embedded.valkey import REWRITE_BYTES
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import STAYS_SECONDS

Server = Postgres | Valkey


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder whose cluster was created and stopped once: creating takes a second, copying does not."""
    data = tmp_path_factory.mktemp("made")
    postgres = Postgres(data, durable=False)
    postgres.start(PATIENCE_SECONDS)
    postgres.stop(PATIENCE_SECONDS)
    return data


@pytest.fixture(autouse=True)
def orphans_end_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server that was left behind end as late as a busy machine lets it."""
    monkeypatch.setattr(child_process, "ORPHAN_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def data(initialised: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder for one test."""
    return Path(shutil.copytree(initialised, tmp_path / "data", ignore=shutil.ignore_patterns("sockets")))


@pytest.fixture
def start() -> Iterator[Callable[[Server], Server]]:
    """Starts servers and stops them after the test, however it ends."""
    started: list[Server] = []

    def start_one(server: Server) -> Server:
        started.append(server)
        server.start(PATIENCE_SECONDS)
        return server

    yield start_one
    for server in started:
        server.stop(PATIENCE_SECONDS)


def ask(data: Path, query: str) -> object:
    with psycopg.connect(database_url(data), autocommit=True) as connection:
        row = connection.execute(query).fetchone() if query.startswith("SELECT") else connection.execute(query)
    return row[0] if isinstance(row, tuple) else None


def kill(server: Server) -> None:
    assert server.process
    server.process.kill()


def test_postgres_answers_at_the_address_that_settings_use(data: Path, start: Callable[[Server], Server]) -> None:
    start(Postgres(data, durable=False))
    assert str(ask(data, "SELECT version()")).startswith("PostgreSQL 18")
    assert ask(data, "SELECT lower('ÄÖÜ')") == "äöü"


def test_killed_postgres_retains_committed_rows(data: Path, start: Callable[[Server], Server]) -> None:
    first = start(Postgres(data))
    ask(data, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    kill(first)
    start(Postgres(data))
    assert ask(data, "SELECT count(*) FROM kept") == 1000


def test_postgres_starts_despite_a_pid_file_of_another_process(data: Path, start: Callable[[Server], Server]) -> None:
    (data / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n{data / 'postgres'}\n")
    start(Postgres(data, durable=False))
    assert ask(data, "SELECT 1") == 1


def test_postgres_takes_over_from_one_that_a_killed_supervisor_left(
    data: Path, start: Callable[[Server], Server]
) -> None:
    orphan = start(Postgres(data, durable=False))
    start(Postgres(data, durable=False))
    assert orphan.process and orphan.process.poll() is not None
    assert ask(data, "SELECT 1") == 1


def kill_a_child(server: Server) -> None:
    assert server.process
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)


def test_postgres_ends_when_one_of_its_processes_crashes(data: Path, start: Callable[[Server], Server]) -> None:
    first = start(Postgres(data))
    assert first.process
    ask(data, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    kill_a_child(first)
    assert first.process.wait(PATIENCE_SECONDS) == 1
    assert isinstance(first, Postgres)
    assert re.search(r"\(PID \d+\) was terminated by signal 9: Killed$", first.crash_reason())
    second = start(Postgres(data))
    assert isinstance(second, Postgres) and second.crash_reason() == ""
    assert ask(data, "SELECT count(*) FROM kept") == 1000


@pytest.fixture
def recovering(data: Path, start: Callable[[Server], Server], monkeypatch: pytest.MonkeyPatch) -> Server:
    """Return a PostgreSQL, started as by an earlier release, that gets a shutdown while it recovers from a crash."""
    monkeypatch.setattr(postgres, "NO_CRASH_RESTART", ())
    server = start(Postgres(data))
    assert server.process
    ask(data, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    kill_a_child(server)
    wait_until(lambda: "database system was interrupted" in server.log.read_text(), "PostgreSQL to begin its recovery")
    server.process.send_signal(signal.SIGINT)
    return server


def test_postgres_that_recovers_is_stopped_all_the_same(
    data: Path, recovering: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "FIRM_SECONDS", PATIENCE_SECONDS)
    assert isinstance(recovering, Postgres) and recovering.process
    recovering.stop(patience_seconds=0.2)
    assert recovering.process.returncode is not None and recovering.process.returncode >= 0, "it was killed"
    assert not (data / "postgres" / "postmaster.pid").exists()


def test_postgres_takes_over_from_one_that_recovers(
    data: Path, recovering: Server, start: Callable[[Server], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    end = child_process._end_with_signal

    def end_by(number: signal.Signals, pid: int, folder: Path) -> bool:
        """Expect nothing of the gentle signal, which is what is ignored during a recovery."""
        monkeypatch.setattr(child_process, "ORPHAN_SECONDS", 0.2 if number == signal.SIGINT else PATIENCE_SECONDS)
        return end(number, pid, folder)

    monkeypatch.setattr(child_process, "_end_with_signal", end_by)
    start(Postgres(data))
    assert ask(data, "SELECT count(*) FROM kept") == 1000


def test_an_interrupted_first_start_is_begun_again(tmp_path: Path, start: Callable[[Server], Server]) -> None:
    (tmp_path / "postgres.new").mkdir()
    (tmp_path / "postgres.new" / "PG_VERSION").write_text("18")
    start(Postgres(tmp_path, durable=False))
    assert ask(tmp_path, "SELECT 1") == 1
    assert not (tmp_path / "postgres.new").exists()


def test_a_cluster_of_another_version_is_named(data: Path) -> None:
    (data / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(CannotStart, match=r"was made by PostgreSQL 17, and 18"):
        Postgres(data).start()


def test_broken_cluster_is_reported_in_one_sentence(data: Path) -> None:
    (data / "postgres" / "global" / "pg_control").unlink()
    with pytest.raises(CannotStart, match=r"PostgreSQL did not start: .*see .*postgres\.log"):
        Postgres(data, durable=False).start()


def test_a_path_too_long_for_a_socket_gets_a_short_one(
    initialised: Path, tmp_path: Path, start: Callable[[Server], Server]
) -> None:
    data = tmp_path / ("long" * 30)
    shutil.copytree(initialised, data, ignore=shutil.ignore_patterns("sockets"))
    assert socket_folder(data).parent == Path("/tmp")
    start(Postgres(data, durable=False))
    start(Valkey(data, durable=False))
    assert ask(data, "SELECT 1") == 1
    assert socket_folder(data).stat().st_mode & 0o777 == 0o700
    shutil.rmtree(socket_folder(data))


def test_a_socket_folder_of_somebody_else_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign_folder = data / "theirs"
    foreign_folder.mkdir()
    (data / "sockets").symlink_to(foreign_folder)
    with pytest.raises(CannotStart, match="belongs to another user"):
        Valkey(data).start()


def test_killed_valkey_retains_its_data(tmp_path: Path, start: Callable[[Server], Server]) -> None:
    first = start(Valkey(tmp_path))
    with redis.from_url(redis_url(tmp_path)) as client:
        client.set("kept", "yes")
    wait_until(
        lambda: any(b"kept" in file.read_bytes() for file in (tmp_path / "valkey").rglob("*.aof")),
        "Valkey to write its append-only file",
    )
    kill(first)
    start(Valkey(tmp_path))
    with redis.from_url(redis_url(tmp_path)) as client:
        assert client.get("kept") == b"yes"


def test_files_of_valkey_are_rewritten_when_they_are_large(tmp_path: Path, start: Callable[[Server], Server]) -> None:
    start(Valkey(tmp_path))
    written = 0
    with redis.from_url(redis_url(tmp_path)) as client:
        while written < 2 * REWRITE_BYTES:
            client.set("overwritten", b"x" * 2**20)
            written += 2**20

    def is_small() -> bool:
        try:
            return sum(file.stat().st_size for file in (tmp_path / "valkey").rglob("*.*f")) < REWRITE_BYTES
        except FileNotFoundError:  # a rewrite renamed its temporary file meanwhile
            return False

    wait_until(is_small, "Valkey to write its files anew")


def test_file_instead_of_a_folder_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(CannotStart, match=r"The data folder .* cannot be used: Not a directory"):
        Valkey(tmp_path / "data").start()


def test_second_server_on_a_folder_is_refused_with_the_owner(tmp_path: Path) -> None:
    with (
        hold(tmp_path),
        pytest.raises(CannotStart, match=rf"already running on .*\(process {os.getpid()}\)"),
        hold(tmp_path),
    ):
        pytest.fail("two hold the same folder")
    with hold(tmp_path):
        pass


def test_lock_file_that_its_holder_removed_is_locked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, flock, calls = tmp_path / "lock", fcntl.flock, []

    def remove_before_the_first_lock(descriptor: int, operation: int) -> None:
        if not calls:
            file.unlink()
        calls.append(operation)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_before_the_first_lock)
    descriptor = try_lock(file)
    assert descriptor is not None
    assert os.path.samestat(os.fstat(descriptor), file.stat())
    assert try_lock(file) is None
    os.close(descriptor)


KILLED = f"""
import sys, time
from pathlib import Path
from esweb.embedded import Postgres, Valkey
servers = [Postgres(Path(sys.argv[1]), durable=False), Valkey(Path(sys.argv[1]))]
for server in servers:
    server.start({PATIENCE_SECONDS})
print(*[server.process.pid for server in servers], flush=True)
time.sleep({STAYS_SECONDS})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of a death")
def test_servers_end_when_their_parent_is_killed(data: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", KILLED, str(data)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    with parent.stdout as output:
        pids = [int(word) for word in output.readline().split()]
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert len(pids) == 2
    wait_until(lambda: not any(is_running(pid) for pid in pids), "both servers to end with whoever started them")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_addresses_do_not_depend_on_a_server_that_runs(tmp_path: Path) -> None:
    assert database_url(tmp_path) == f"postgresql://esweb@/esweb?host={tmp_path}/sockets"
    assert redis_url(tmp_path) == f"unix://{tmp_path}/sockets/valkey.sock?db=0"
    assert not (tmp_path / "sockets").exists()
    assert all(len(name) < 20 for name in sockets.SOCKET_NAMES)
