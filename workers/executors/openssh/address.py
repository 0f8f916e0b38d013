"""Arguments of the OpenSSH client: host, user and key. A key is named by its path, or comes from an agent.

Options: https://man.openbsd.org/ssh_config
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}")
"""A name, an address or an alias of ssh_config. The first letter prevents that it is taken for an option."""
USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
ADDRESS_FORMAT = "ssh://user@host:port, or a host in this machine's ssh_config, such as login.example.org"
CONNECT_SECONDS = 10
OPTIONS = {
    # Nobody is there to type: a key or an agent authenticates, or nothing does.
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
    """The text is not an address. The message shows the expected format."""


@dataclass(frozen=True)
class Address:
    """A machine; an empty user and a port of 0 leave that to ssh_config."""

    host: str
    user: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return the address in a text. Raise BadAddress."""
        message = f"must be {ADDRESS_FORMAT}, not {text!r}"
        if not text.isprintable():
            raise BadAddress(message)
        try:
            parts = urlsplit(text if text.startswith("ssh://") else f"ssh://{text}")
            address = cls(parts.hostname or "", parts.username or "", parts.port or 0)
        except ValueError as error:
            raise BadAddress(message) from error
        if parts.password is not None:
            raise BadAddress("must not contain a password: esweb signs in with a key file or an agent")
        # Not what urlsplit makes of it, which is in small letters: an alias may have others.
        location = parts.netloc.rpartition("@")[2]
        host = address.host if location.startswith("[") else location.partition(":")[0]
        if parts.path not in ("", "/") or parts.query or parts.fragment or not HOST.fullmatch(host):
            raise BadAddress(message)
        if address.user and not USER.fullmatch(address.user):
            raise BadAddress(message)
        return cls(host, address.user, address.port)

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        return f"{user}{self.host}" + (f":{self.port}" if self.port else "")


@dataclass(frozen=True)
class Access:
    """A machine and its credentials. Paths are of this machine; empty ones leave the choice to ssh_config and the
    agent."""

    address: Address
    key_file: str = ""
    known_hosts: str = ""

    def options(self, control_path: str) -> list[str]:
        """Return the arguments that every call of ssh gets before the host."""
        options = {**OPTIONS, "ControlPath": control_path}
        if self.key_file:
            options |= {"IdentityFile": _quote(self.key_file), "IdentitiesOnly": "yes"}
        if self.known_hosts:
            options |= {"UserKnownHostsFile": _quote(self.known_hosts)}
        user = [f"-l{self.address.user}"] if self.address.user else []
        port = [f"-p{self.address.port}"] if self.address.port else []
        return ["-T", *user, *port, *(f"-o{name}={value}" for name, value in options.items())]


def _quote(path: str) -> str:
    """Quote a path for a value of ssh_config, in which a space parts words and % begins a pattern."""
    return '"' + path.replace("%", "%%") + '"'
