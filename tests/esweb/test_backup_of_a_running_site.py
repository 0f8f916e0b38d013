"""A running site is backed up while a run writes; the restored site answers every API read like the original."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from esweb.backup.restore import REASON
from esweb.embedded import Postgres, database_url, hold
from tests import migrated_database
from tests.chaos.recount import differences, read_file
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.records import Metric, RecordWriter, records_path

ROOT = Path(__file__).resolve().parents[2]
FIRST = 50
"""Records that the original's follower has read before the backup."""


@dataclass(frozen=True)
class Pair:
    """The original and the site that was restored from its backup, both with all that their files hold."""

    before: dict[str, dict[str, Any]]
    after: dict[str, dict[str, Any]]
    """What each address of the API answered on the original and on the restored site."""
    restored: dict[str, str]
    """The environment of the restored site, which has looked after its clusters since."""
    copy: Path
    """The records of the growing run, as far as the backup has them."""
    attempt: int
    written: int
    """Records of the growing run in the end."""
    process: subprocess.Popen[bytes]


def call(env: dict[str, str], *words: str | Path) -> str:
    """Run Python with these words on a site; what it prints."""
    argv = [sys.executable, *words]
    done = subprocess.run(
        argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Actions:
    """A process with the settings of one site, which stays for all actions there."""

    def __init__(self, env: dict[str, str]) -> None:
        argv = [sys.executable, "-m", "tests.esweb.backup_actions"]
        self.process = subprocess.Popen(
            argv, cwd=ROOT, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, *action: str) -> Any:
        """Run an action of `backup_actions` and return its result."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(action), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, f"{action} failed"
        return json.loads(line)

    def __enter__(self) -> Actions:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Back up one site while a run of it writes, restore it, and bring both to the time of the backup."""
    folder = tmp_path_factory.mktemp("sites")
    data, archive = folder / "original", folder / "site.tar"
    migrated_database.copy_to(data, Path(os.environ["ESWEB_CACHE"]))
    server = Postgres(data, durable=False)
    server.start(PATIENCE_SECONDS)
    common = {**os.environ, "REDIS_URL": settings.REDIS_URL}
    common.pop("SECRET_KEY", None)
    original = common | {"ESWEB_DATA": str(data), "DATABASE_URL": database_url(data)}
    restored = common | {"ESWEB_DATA": str(folder / "restored"), "DATABASE_URL": database_url(data, "restored")}
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        with psycopg.connect(database_url(data, "postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE restored")
        with Actions(original) as actions:
            created = actions.run("make", str(process.pid))
            written = back_up_while_it_writes(actions, data, Path(created["folder"]), archive)
            call(restored, "manage.py", "restore", archive)
            copy = records_path(folder / "restored" / "runs" / Path(created["folder"]).relative_to(data / "runs"), 1)
            ended_at = cut_to_the_moment_of_the_backup(archive, records_path(Path(created["folder"]), 1), copy)
            before = actions.run("end-and-answer", ended_at, created["token"])
        with Actions(restored) as actions:
            after = actions.run("follow-answer-and-tick", created["token"])
        yield Pair(before, after, restored, copy, created["attempt"], written, process)
    finally:
        process.communicate(b"\n")
        server.stop(PATIENCE_SECONDS)


def back_up_while_it_writes(actions: Actions, data: Path, folder: Path, archive: Path) -> int:
    """Back up as on a running site; return how many records there are when it is done."""
    writer, stop = RecordWriter(folder, 1), threading.Event()

    def write() -> None:
        writer.write(Metric(writer.step + 1, {"reward/mean": float(writer.step)}, {}))

    for _ in range(FIRST):
        write()

    def write_on() -> None:
        while not stop.wait(0.01):
            write()

    thread = threading.Thread(target=write_on)
    thread.start()
    try:
        wait_until(lambda: writer.step > FIRST + 10, "records to be written")
        with hold(data):  # as `up` does
            actions.run("follow-and-backup", str(archive))
        at_the_end = writer.step
        wait_until(lambda: writer.step > at_the_end, "another record")
    finally:
        stop.set()
        thread.join()
        writer.close()
    return writer.step


def cut_to_the_moment_of_the_backup(archive: Path, file: Path, copy: Path) -> str:
    """Give the original's growing file the size and time of its copy, and return the time of the backup."""
    with tarfile.open(archive) as tar:
        manifest: dict[str, Any] = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
    os.truncate(file, copy.stat().st_size)
    os.utime(file, ns=(copy.stat().st_atime_ns, copy.stat().st_mtime_ns))
    assert file.read_bytes() == copy.read_bytes()
    return str(manifest["created_at"])


def test_every_read_of_the_api_answers_as_before(pair: Pair) -> None:
    before, after = pair.before, pair.after
    assert before.keys() == after.keys()
    assert [path for path, replies in before.items() if not any(status == 200 for status, _ in replies.values())] == []
    for path, replies in before.items():
        assert after[path] == replies, path


def test_rows_are_the_records_of_the_copied_file(pair: Pair) -> None:
    with psycopg.connect(pair.restored["DATABASE_URL"]) as connection:
        assert differences(connection, pair.attempt, 1, pair.copy) == []
    assert FIRST < sum(read_file(pair.copy).values()) < pair.written


def test_running_attempt_is_interrupted_and_its_process_left_alone(pair: Pair) -> None:
    with psycopg.connect(pair.restored["DATABASE_URL"]) as connection:
        query = "SELECT state, reason FROM runs_attempt WHERE id = %s"
        assert connection.execute(query, [pair.attempt]).fetchone() == ("interrupted", REASON)
        assert connection.execute("SELECT count(*) FROM runs_run WHERE state = 'running'").fetchone() == (0,)
    assert pair.process.poll() is None


def test_archive_leaves_out_drafts_tokens_and_processes(pair: Pair) -> None:
    names = {path.name for path in Path(pair.restored["ESWEB_DATA"]).rglob("*")}
    assert not names & {".step-000009", "half", "site-token", "claim", "owner.json", "heartbeat.json"}
    assert {"records.1.jsonl", "model.safetensors"} <= names
