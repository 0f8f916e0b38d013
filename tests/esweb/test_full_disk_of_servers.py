"""PostgreSQL, Valkey and the logs of the parts on disks that are really full all resume once there is room."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
import redis

from esweb.embedded import Postgres, Valkey, database_url, redis_url
from esweb.supervisor import Part, Tree
from tests.small_disks import needs_small_disk, small_disk
from tests.waiting import wait_until

pytestmark = needs_small_disk
Server = Postgres | Valkey
WRITE_AHEAD = "SELECT pg_logical_emit_message(false, 'filler', repeat('x', 4000000))"
DAMAGES: dict[str, Callable[[Path], object]] = {
    "a corrupt middle": lambda files: overwrite(next(files.glob("*.incr.aof")), 300, b"\xff" * 100),
    "an empty manifest": lambda files: (files / "appendonly.aof.manifest").write_bytes(b""),
}


@contextmanager
def running(server: Server) -> Iterator[Server]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


class RunningTree:
    """A tree that is watched in a thread of its own, as `up` watches it, until the block ends."""

    def __init__(self, *servers: Server) -> None:
        self.printed: list[str] = []
        self.tree = Tree(servers, lambda part, message: self.printed.append(message))
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self.tree.watch, args=(self._is_over.is_set,))

    def __enter__(self) -> RunningTree:
        self.tree.start_servers()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self.tree.stop_parts()
        self.tree.stop_servers()

    def has_printed(self, words: str) -> bool:
        """Return whether a line with these words was printed. The watching must not have ended."""
        assert self._thread.is_alive(), self.printed
        return any(words in line for line in self.printed)


def test_postgres_is_tried_again_until_its_disk_has_room(tmp_path: Path) -> None:
    with small_disk(tmp_path, 160) as disk, RunningTree(Postgres(tmp_path)) as up:
        ask(tmp_path, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
        with psycopg.connect(database_url(tmp_path), autocommit=True) as sql:
            disk.fill()
            with pytest.raises(psycopg.OperationalError):
                while True:
                    sql.execute(WRITE_AHEAD)
        wait_until(
            lambda: up.has_printed("is full. Retrying in 2 s"),
            "a second try",
            details=up.printed.copy,
        )
        disk.make_room()
        wait_until(lambda: rows(tmp_path) == 1000, "PostgreSQL to come back with all that was committed")
        ask(tmp_path, "INSERT INTO kept VALUES (1001)")
        assert rows(tmp_path) == 1001


@pytest.mark.parametrize("damage", DAMAGES)
def test_valkey_with_unreadable_files_starts_empty_and_retains_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    with running(Valkey(tmp_path)) as valkey:
        fill_queue(tmp_path)
        wait_until(lambda: b"key-9" in aof_of(tmp_path).read_bytes(), "Valkey to write its files")
        assert valkey.process
        valkey.process.kill()
        valkey.process.wait()
    DAMAGES[damage](tmp_path / "valkey" / "appendonlydir")
    with running(Valkey(tmp_path)), redis.from_url(redis_url(tmp_path)) as client:
        assert client.dbsize() == 0
        assert client.set("written", "again")
    aside = tmp_path / "valkey" / "appendonlydir.unreadable"
    assert f"they were moved to {aside}" in caplog.text
    assert aside.is_dir()


def test_valkey_resumes_when_its_disk_has_room_again(tmp_path: Path) -> None:
    (tmp_path / "valkey").mkdir()
    with small_disk(tmp_path / "valkey", 1) as disk:
        with running(Valkey(tmp_path)), redis.from_url(redis_url(tmp_path)) as client:
            fill_queue(tmp_path)
            # Valkey answers before it writes, up to 2 s before while an fsync is under way.
            wait_until(lambda: b"key-9" in aof_of(tmp_path).read_bytes(), "Valkey to write its files")
            disk.fill()
            wait_until(lambda: not takes_writes(client), "Valkey to refuse writes")
        with running(Valkey(tmp_path)), redis.from_url(redis_url(tmp_path)) as client:
            assert client.get("key-9"), "one that starts on the full disk answers"
            disk.fill()
            wait_until(lambda: not takes_writes(client), "Valkey to refuse writes after its start")
            disk.make_room()
            wait_until(lambda: takes_writes(client), "Valkey to take writes again")


def test_part_without_a_log_is_retried_until_it_has_one(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    with small_disk(logs, 1, files=3) as disk, RunningTree() as up:
        short = Part("short", [sys.executable, "-S", "-c", "print('here')"], logs / "short.log", {})
        up.tree.start_part(short)
        wait_until(lambda: up.has_printed("here"), "the part to say that it is there")

        def has_failed_to_start() -> bool:
            # Repeated: the part may start after its log was removed and before the disk is full.
            short.log.unlink(missing_ok=True)
            disk.fill()
            return up.has_printed("short cannot be started: The disk of")

        wait_until(has_failed_to_start, "a start that fails")
        disk.make_room()
        up.printed.clear()
        wait_until(lambda: up.has_printed("here"), "the part to come back")


def fill_queue(data: Path) -> None:
    with redis.from_url(redis_url(data)) as client:
        for number in range(10):
            client.set(f"key-{number}", "x" * 100)


def aof_of(data: Path) -> Path:
    return next((data / "valkey" / "appendonlydir").glob("*.incr.aof"))


def takes_writes(client: redis.Redis) -> bool:
    try:
        return bool(client.set("filler", "x" * 5000))
    except redis.ResponseError:
        return False


def overwrite(file: Path, start: int, text: bytes) -> None:
    file.write_bytes(file.read_bytes()[:start] + text + file.read_bytes()[start + len(text) :])


def ask(data: Path, query: str) -> None:
    with psycopg.connect(database_url(data), autocommit=True) as sql:
        sql.execute(query)


def rows(data: Path) -> int:
    """Return how many rows there are; 0 while PostgreSQL is away."""
    with suppress(psycopg.OperationalError), psycopg.connect(database_url(data)) as sql:
        row = sql.execute("SELECT count(*) FROM kept").fetchone()
        return int(row[0]) if row else 0
    return 0
