"""Which hosts judges may be asked at. An admin names them; a name is looked up once, and only what was looked at is
connected to.

    api.example.com          a name: any public address that it has, at any port
    gpu7.lab=10.0.0.0/8      a name whose addresses are in that network
    localhost:8001           this machine, at that port alone
    127.0.0.1   [::1]        an address
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias
from urllib.parse import urlsplit

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
PORTS = {"http": 80, "https": 443}
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


class NotAllowed(Exception):
    """A host that no admin allowed, or a name that leads where it must not. In words that may be shown."""


@dataclass(frozen=True)
class Host:
    """One that is allowed. port: None for any. networks: where its addresses lie; empty for anywhere public."""

    name: str
    port: int | None = None
    networks: tuple[Network, ...] = ()

    def holds(self, address: Address) -> bool:
        """True where the host may have that address."""
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            return self.holds(address.ipv4_mapped)
        if self.networks:
            return any(address in network for network in self.networks)
        return address.is_global and not address.is_multicast


def host(entry: str) -> Host:
    """The host that an entry names. Raises ValueError in words."""
    what = f"{entry!r} is no host; write a name, NAME:PORT, NAME=NETWORK such as gpu7.lab=10.0.0.0/8, or an address"
    where, _, network = entry.strip().partition("=")
    try:
        parts = urlsplit(f"//{where}")
        name, port = (parts.hostname or "").rstrip("."), parts.port
        networks = (ip_network(network, strict=False),) if network else _of(name)
    except ValueError:
        raise ValueError(what) from None
    if not name or " " in where or parts.path or parts.username is not None or parts.query or parts.fragment:
        raise ValueError(what)
    return Host(name, port, networks)


def hosts(entries: Iterable[str]) -> tuple[Host, ...]:
    """All of them. Raises ValueError naming the first that is none."""
    return tuple(host(entry) for entry in entries)


def permitted(url: str, allowed: Sequence[Host]) -> Host:
    """The allowed host that a URL is at. Raises NotAllowed, naming the choices."""
    what = "the address must be a URL such as http://127.0.0.1:8001/v1"
    try:
        parts = urlsplit(url if url.isprintable() else "")
        port = parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise NotAllowed(f"{what}, not {url[:200]!r}") from None
    if not parts.hostname or " " in url or "\\" in url:
        raise NotAllowed(f"{what}, not {url[:200]!r}")
    if parts.username is not None or parts.query or parts.fragment:
        raise NotAllowed(f"{what}, without a name, a password, ? or #")
    name = parts.hostname.rstrip(".")
    for one in allowed:
        if one.name == name and one.port in (None, port):
            return one
    choices = ", ".join(_words(one) for one in allowed) or "none"
    raise NotAllowed(f"{name}:{port} is none of the hosts that judges may be asked at: {choices}")


def addresses(one: Host, port: int, look_up: Callable[..., Any] = socket.getaddrinfo) -> list[str]:
    """The host's addresses as they are now, each of them one that it may have. Raises NotAllowed, OSError."""
    found = look_up(one.name, port, type=socket.SOCK_STREAM)
    texts = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for text in texts:
        if not one.holds(ip_address(text.partition("%")[0])):
            raise NotAllowed(f"{one.name} has the address {text}, which is not public and which no admin allowed")
    return texts


def _of(name: str) -> tuple[Network, ...]:
    """Of an address, itself; of localhost, this machine; of another name, anywhere public."""
    if name.lower() == "localhost":
        return LOOPBACK
    try:
        return (ip_network(name),)
    except ValueError:
        return ()


def _words(one: Host) -> str:
    name = f"[{one.name}]" if ":" in one.name else one.name
    return name if one.port is None else f"{name}:{one.port}"
