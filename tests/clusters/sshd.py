"""A real sshd on loopback, with keys and a port of its own, in a folder of its own, as a remote machine for SSH."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.clusters.slurm.daemons import Daemons
from tests.free_ports import unused_port
from tests.tools import not_installed
from tests.waiting import wait_until
from workers.executors.base import NotBegun
from workers.executors.openssh import Access, Address
from workers.executors.openssh.connection import Connection

PROGRAMS = ("sshd", "ssh", "ssh-keygen")
CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {root}/host_key
PidFile {root}/sshd.pid
AuthorizedKeysFile {root}/authorized_keys
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
LogLevel VERBOSE
SetEnv HOME={root}/home
"""
LOGIN = "echo Welcome to the cluster\n"
"""The login script of a shell there: the script of the tests' user may take half a second."""


def missing() -> str:
    """Return why no sshd can be started here; empty if one can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "an sshd of one's own needs Linux and root"
    absent = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return not_installed("OpenSSH", f" (no {', '.join(absent)})") if absent else ""


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"


class Sshd:
    """An sshd. `access` returns address and keys."""

    def __init__(self, root: Path) -> None:
        self.root, self.port, self.daemons = root, 0, Daemons(root)

    def up(self) -> None:
        """Create keys, start the server, and wait until it answers."""
        for name in ("host_key", "key"):
            argv = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(self.root / name))
            subprocess.run(argv, check=True, capture_output=True)
        shutil.copy(self.root / "key.pub", self.root / "authorized_keys")
        self.port = unused_port()
        host_key = " ".join((self.root / "host_key.pub").read_text().split()[:2])
        (self.root / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}\n")
        (self.root / "sshd_config").write_text(CONFIG.format(root=self.root, port=self.port))
        (self.root / "home").mkdir()
        (self.root / "home" / ".bashrc").write_text(LOGIN)
        # The folder in which sshd drops its rights; its path is compiled in.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        sshd = shutil.which("sshd", path=_path())
        assert sshd is not None
        self.daemons.start("sshd", (sshd, "-D", "-e", "-f", str(self.root / "sshd_config")))
        wait_until(self._is_answering, "sshd to accept connections", details=lambda: self.daemons.read_log_end("sshd"))

    def stop(self) -> None:
        """Stop the server and break its connections."""
        for session in self.sessions():
            # The process may have ended meanwhile.
            with contextlib.suppress(ProcessLookupError):
                os.kill(session, signal.SIGKILL)
        self.daemons.stop("sshd")

    def down(self) -> None:
        """Stop the server with its connections, and remove the folder."""
        connection = self.connection()
        # On a busy machine it may not answer in time; its sessions end with the server in any case.
        with contextlib.suppress(NotBegun):
            connection.close()
        self.stop()
        for path in connection.folder.glob(f"{connection.name}*"):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.root)

    def access(self) -> Access:
        """Return access by its own key, with its own host key known."""
        address = Address.parse(f"ssh://root@127.0.0.1:{self.port}")
        return Access(address, str(self.root / "key"), str(self.root / "known_hosts"))

    def config(self, folder: Path) -> dict[str, str]:
        """Return the settings of a cluster's config; `folder` stores jobs on the remote machine."""
        access = self.access()
        options = {"key_file": access.key_file, "known_hosts": access.known_hosts, "python": sys.executable}
        return {"address": f"ssh://{access.address}", "folder": str(folder), **options}

    def connection(self) -> Connection:
        """Return the connection that esweb uses."""
        return Connection(self.access())

    def sessions(self) -> list[int]:
        """Return the pids of the processes that serve its connections, one each."""
        server_pid = self.daemons.pid("sshd")
        return [
            int(p.name) for p in Path("/proc").glob("[0-9]*") if server_pid is not None and _parent(p) == server_pid
        ]

    def logins(self) -> int:
        """Return the number of accepted connections."""
        return (self.root / "sshd.log").read_text(errors="replace").count("Accepted publickey")

    def _is_answering(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def _parent(proc: Path) -> int | None:
    try:
        return int((proc / "stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None
