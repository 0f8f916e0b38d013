"""Which machine, as whom, by which key: what the OpenSSH client is told. A key is named by its path, or is an agent's.

Options: https://man.openbsd.org/ssh_config
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}")
"""A name, an address or an alias of ssh_config. The first letter keeps it from being taken for an option."""
USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
SAID_AS = "ssh://user@host:port, or a host that this machine's ssh_config knows, such as login.example.org"
CONNECT_SECONDS = 10
OPTIONS = {
    # Nobody is there to type: a key or an agent lets us in, or nothing does.
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": str(CONNECT_SECONDS),
    "ServerAliveInterval": "10",
    "ServerAliveCountMax": "3",
    "ControlPersist": "10m",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "ClearAllForwardings": "yes",
    "PermitLocalCommand": "no",
    "RequestTTY": "no",
    "EscapeChar": "none",
    "LogLevel": "ERROR",
}


class BadAddress(ValueError):
    """An address that is none. The message says what one looks like."""


@dataclass(frozen=True)
class Address:
    """A machine; an empty user and a port of 0 leave that to ssh_config."""

    host: str
    user: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Address:
        """Raises BadAddress."""
        said = f"must be {SAID_AS}, not {text!r}"
        if not text.isprintable():
            raise BadAddress(said)
        try:
            parts = urlsplit(text if text.startswith("ssh://") else f"ssh://{text}")
            found = cls(parts.hostname or "", parts.username or "", parts.port or 0)
        except ValueError as error:
            raise BadAddress(said) from error
        if parts.password is not None:
            raise BadAddress("must hold no password: a key file or an agent lets esweb in")
        # Not what urlsplit makes of it, which is in small letters: an alias may have others.
        place = parts.netloc.rpartition("@")[2]
        host = found.host if place.startswith("[") else place.partition(":")[0]
        if parts.path not in ("", "/") or parts.query or parts.fragment or not HOST.fullmatch(host):
            raise BadAddress(said)
        if found.user and not USER.fullmatch(found.user):
            raise BadAddress(said)
        return cls(host, found.user, found.port)

    def __str__(self) -> str:
        who = f"{self.user}@" if self.user else ""
        return f"{who}{self.host}" + (f":{self.port}" if self.port else "")


@dataclass(frozen=True)
class Access:
    """A machine and what opens it. Paths are of this machine; empty ones leave it to ssh_config and the agent."""

    address: Address
    key_file: str = ""
    known_hosts: str = ""

    def options(self, control_path: str) -> list[str]:
        """What every call of ssh is given before the host."""
        said = {**OPTIONS, "ControlPath": control_path}
        if self.key_file:
            said |= {"IdentityFile": _quoted(self.key_file), "IdentitiesOnly": "yes"}
        if self.known_hosts:
            said |= {"UserKnownHostsFile": _quoted(self.known_hosts)}
        who = [f"-l{self.address.user}"] if self.address.user else []
        port = [f"-p{self.address.port}"] if self.address.port else []
        return ["-T", *who, *port, *(f"-o{name}={value}" for name, value in said.items())]


def _quoted(path: str) -> str:
    """For a value of ssh_config, in which a space parts words and % begins a pattern."""
    return '"' + path.replace("%", "%%") + '"'
