"""The one connection to a machine: an OpenSSH master at a socket that all processes of esweb share.

A user who must type a second factor can open it beforehand, with the same ControlPath; esweb then uses it.
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

PASSED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "KRB5CCNAME")
OPEN_SECONDS = 3.0 * CONNECT_SECONDS
PRIVATE = 0o700
SENTENCES = (
    (r"HOST IDENTIFICATION HAS CHANGED", "its host key differs from the known one: it may be another machine"),
    (r"Host key verification failed|(?m:^)(?>.*?No ).* host key is known",
     "its host key is unknown: see known_hosts in the cluster's config"),
    (r"Permission denied", "it refuses to let esweb sign in: see key_file in the cluster's config, or the ssh agent"),
    (r"Could not resolve hostname", "the host does not exist"),
    (r"Connection refused", "nothing listens on its port"),
    (r"timed out|No route to host|Network is unreachable", "it does not answer"),
    (r"Session open refused", "it refuses a further session on the connection"),
)  # fmt: skip


@dataclass(frozen=True)
class Connection:
    """`folder` is private to this account and short: a socket's address holds a hundred letters."""

    access: Access
    folder: Path = field(default_factory=lambda: Path(tempfile.gettempdir()) / f"esweb-ssh-{os.geteuid()}")

    @property
    def name(self) -> str:
        """Return a name that is the same for all processes that reach this machine in this way."""
        return hashlib.sha256(repr(self.access).encode()).hexdigest()[:16]

    @property
    def control_path(self) -> Path:
        """Return the path of the socket on which the master listens."""
        return self.folder / self.name

    def create_folder(self) -> None:
        """Create the folder if it is missing. Check its owner, since any account may create a name in /tmp. Raise
        NotBegun."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            status = self.folder.lstat()
        except OSError as error:
            raise NotBegun(f"{self.folder} cannot be used: {error.strerror}") from error
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != PRIVATE:
            raise NotBegun(f"{self.folder} must be a folder that only this account can access (mode 700)")

    def open(self) -> None:
        """Make sure that a master runs, so that no command opens a connection of its own. Raise NotBegun."""
        # One process opens it at a time: with several, all but one would open connections of their own.
        with slot(self.folder, f"{self.name}.open", OPEN_SECONDS, slots=1):
            if self._ssh(("-Ocheck",), ()).returncode == 0:
                return
            done = self._ssh(("-oControlMaster=auto",), ("true",))
        if done.returncode != 0:
            raise NotBegun(f"{self.access.address}: {describe_error(done.stderr.decode(errors='replace'))}")

    def close(self) -> None:
        """Stop the master, which would otherwise stop after nobody has used it for a while."""
        self._ssh(("-Oexit",), ())

    def argv(self, command: str) -> list[str]:
        """Return the ssh command that uses only the master: without a master the command does not begin."""
        options = ("-oControlMaster=no", "-oProxyCommand=false")
        return ["ssh", *self.access.options(str(self.control_path)), *options, "--", self.access.address.host, command]

    def _ssh(self, options: Sequence[str], command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        argv = ["ssh", *self.access.options(str(self.control_path)), *options, "--", self.access.address.host, *command]
        # A file, because the master keeps the stderr that it was given open: a pipe would never end.
        with tempfile.TemporaryFile(dir=self.folder) as errors:
            try:
                done = subprocess.run(
                    argv,
                    cwd="/",
                    env=bare_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    timeout=OPEN_SECONDS,
                    start_new_session=True,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise NotBegun(f"{self.access.address} did not answer within {OPEN_SECONDS:g} s") from error
            except OSError as error:
                raise NotBegun(f"ssh cannot be run: {error.strerror}") from error
            errors.seek(0)
            return subprocess.CompletedProcess(argv, done.returncode, b"", errors.read())


def bare_environment() -> dict[str, str]:
    """Return the variables that ssh needs, and no secret that a SendEnv could pass on."""
    return {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ} | {"LC_ALL": "C"}


def describe_error(output: str) -> str:
    """Return ssh's output as a sentence with its last line behind it."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = (lines[-1] if lines else "no error message")[-300:]
    sentence = next((words for pattern, words in SENTENCES if re.search(pattern, output)), "")
    return f"{sentence} (ssh: {last})" if sentence else f"ssh: {last}"
