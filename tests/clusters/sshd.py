"""A real sshd on loopback, with keys and a port of its own, in a folder of its own: a far machine to go to by SSH."""

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
"""What a login shell there reads first: that of whoever runs the tests may take half a second."""


def missing() -> str:
    """Why no sshd can be started here; empty where one can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "an sshd of one's own needs Linux and root"
    absent = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return not_installed("OpenSSH", f" (no {', '.join(absent)})") if absent else ""


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"


class Sshd:
    """`access` says how to go in."""

    def __init__(self, root: Path) -> None:
        self.root, self.port, self.daemons = root, 0, Daemons(root)

    def up(self) -> None:
        """Makes keys, starts it, and waits until it answers."""
        for name in ("host_key", "key"):
            asked = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(self.root / name))
            subprocess.run(asked, check=True, capture_output=True)
        shutil.copy(self.root / "key.pub", self.root / "authorized_keys")
        self.port = unused_port()
        host_key = " ".join((self.root / "host_key.pub").read_text().split()[:2])
        (self.root / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}\n")
        (self.root / "sshd_config").write_text(CONFIG.format(root=self.root, port=self.port))
        (self.root / "home").mkdir()
        (self.root / "home" / ".bashrc").write_text(LOGIN)
        # Where it drops its rights; the place is compiled in.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.start()

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        sshd = shutil.which("sshd", path=_path())
        assert sshd is not None
        self.daemons.start("sshd", (sshd, "-D", "-e", "-f", str(self.root / "sshd_config")))
        wait_until(self._answers, "sshd to accept connections", details=lambda: self.daemons.last_words("sshd"))

    def stop(self) -> None:
        """Nobody listens any more, and the connections that there were are broken."""
        for session in self.sessions():
            # One that was ending has ended.
            with contextlib.suppress(ProcessLookupError):
                os.kill(session, signal.SIGKILL)
        self.daemons.stop("sshd")

    def down(self) -> None:
        """Ends it with its connections, and removes the folder."""
        connection = self.connection()
        # On a busy machine it may not answer in time; its sessions end with the server in any case.
        with contextlib.suppress(NotBegun):
            connection.close()
        self.stop()
        for place in connection.folder.glob(f"{connection.name}*"):
            place.unlink(missing_ok=True)
        shutil.rmtree(self.root)

    def access(self) -> Access:
        """By its own key, with its own host key known."""
        address = Address.parse(f"ssh://root@127.0.0.1:{self.port}")
        return Access(address, str(self.root / "key"), str(self.root / "known_hosts"))

    def config(self, folder: Path) -> dict[str, str]:
        """What a cluster's config says of it; `folder` is where jobs lie over there."""
        access = self.access()
        said = {"key_file": access.key_file, "known_hosts": access.known_hosts, "python": sys.executable}
        return {"address": f"ssh://{access.address}", "folder": str(folder), **said}

    def connection(self) -> Connection:
        """The one that esweb uses."""
        return Connection(self.access())

    def sessions(self) -> list[int]:
        """The processes that serve its connections, one each."""
        mine = self.daemons.pid("sshd")
        return [int(p.name) for p in Path("/proc").glob("[0-9]*") if mine is not None and _parent(p) == mine]

    def logins(self) -> int:
        """How many connections were let in."""
        return (self.root / "sshd.log").read_text(errors="replace").count("Accepted publickey")

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def _parent(proc: Path) -> int | None:
    try:
        return int((proc / "stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None
