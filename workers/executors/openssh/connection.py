"""The one connection to a machine: an OpenSSH master at a socket that all processes of esweb share.

A person who must type a second factor can open it beforehand, with the same ControlPath; esweb then goes in by it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workers.executors.base import NotBegun
from workers.executors.openssh.address import CONNECT_SECONDS, Access
from workers.executors.openssh.slots import slot

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "KRB5CCNAME")
OPEN_SECONDS = 3.0 * CONNECT_SECONDS
PRIVATE = 0o700
SENTENCES = (
    (r"HOST IDENTIFICATION HAS CHANGED", "its host key is another one than the known one: it may be another machine"),
    (r"Host key verification failed|No .* host key is known",
     "its host key is not among the known ones: see known_hosts in the cluster's config"),
    (r"Permission denied", "it does not let esweb in: see key_file in the cluster's config, or the ssh agent"),
    (r"Could not resolve hostname", "there is no such host"),
    (r"Connection refused", "nobody answers at its port"),
    (r"timed out|No route to host|Network is unreachable", "it gives no answer"),
    (r"Session open refused", "it opens no further session on the connection"),
)  # fmt: skip


@dataclass(frozen=True)
class Connection:
    """`folder` is private to this account and short: a socket's address holds a hundred letters."""

    access: Access
    folder: Path = field(default_factory=lambda: Path(tempfile.gettempdir()) / f"esweb-ssh-{os.geteuid()}")

    @property
    def name(self) -> str:
        """The same for all who reach this machine in this way."""
        return hashlib.sha256(repr(self.access).encode()).hexdigest()[:16]

    @property
    def control_path(self) -> Path:
        """Where the master listens."""
        return self.folder / self.name

    def make_folder(self) -> None:
        """Makes it where it is not there. A name under /tmp may be anybody's, so it is looked at. Raises NotBegun."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            seen = self.folder.lstat()
        except OSError as error:
            raise NotBegun(f"{self.folder} cannot be used: {error.strerror}") from error
        if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid() or stat.S_IMODE(seen.st_mode) != PRIVATE:
            raise NotBegun(f"{self.folder} must be a folder that is this account's alone (mode 700)")

    def open(self) -> None:
        """Makes sure that there is a master, so that no command opens a connection of its own. Raises NotBegun."""
        # One at a time: of several who open it at once, all but one would go in by connections of their own.
        with slot(self.folder, f"{self.name}.open", OPEN_SECONDS, places=1):
            if self._ssh(("-Ocheck",), ()).returncode == 0:
                return
            done = self._ssh(("-oControlMaster=auto",), ("true",))
        if done.returncode != 0:
            raise NotBegun(f"{self.access.address}: {in_words(done.stderr.decode(errors='replace'))}")

    def close(self) -> None:
        """Ends the master, which would end by itself when nobody has used it for a while."""
        self._ssh(("-Oexit",), ())

    def argv(self, command: str) -> list[str]:
        """ssh over the master and by no other way: without it the command does not begin."""
        way = ("-oControlMaster=no", "-oProxyCommand=false")
        return ["ssh", *self.access.options(str(self.control_path)), *way, "--", self.access.address.host, command]

    def _ssh(self, options: Sequence[str], command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        argv = ["ssh", *self.access.options(str(self.control_path)), *options, "--", self.access.address.host, *command]
        # A file, since the master that goes on holds what it was given open: a pipe would never end.
        with tempfile.TemporaryFile(dir=self.folder) as said:
            try:
                done = subprocess.run(
                    argv,
                    cwd="/",
                    env=bare_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    timeout=OPEN_SECONDS,
                    start_new_session=True,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise NotBegun(f"{self.access.address} gave no answer in {OPEN_SECONDS:g} s") from error
            except OSError as error:
                raise NotBegun(f"ssh cannot be run: {error.strerror}") from error
            said.seek(0)
            return subprocess.CompletedProcess(argv, done.returncode, b"", said.read())


def bare_environment() -> dict[str, str]:
    """What ssh needs, and nothing secret that a SendEnv could pass on."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C"}


def in_words(said: str) -> str:
    """What ssh said, as a sentence with its last line behind it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = (lines[-1] if lines else "it said nothing")[-300:]
    sentence = next((words for pattern, words in SENTENCES if re.search(pattern, said)), "")
    return f"{sentence} (ssh: {last})" if sentence else f"ssh: {last}"
