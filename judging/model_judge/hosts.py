"""Allowed hosts of judges' servers. An admin names them; a name is looked up once for each connection, and only a
checked address is connected to.

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


class HostNotAllowed(Exception):
    """Error for a host that no admin allowed, or a name with an address that is not allowed. The message may be
    shown."""


@dataclass(frozen=True)
class Host:
    """An allowed host. port: None for any. networks: the networks of its addresses; empty for any public one."""

    name: str
    port: int | None = None
    networks: tuple[Network, ...] = ()

    def permits(self, address: Address) -> bool:
        """Return whether the host may have that address."""
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            return self.permits(address.ipv4_mapped)
        if self.networks:
            return any(address in network for network in self.networks)
        return address.is_global and not address.is_multicast


def parse_host(entry: str) -> Host:
    """Parse the host of an entry. Raise ValueError with the reason."""
    message = (
        f"{entry!r} is not a host; write a name, NAME:PORT, NAME=NETWORK such as gpu7.lab=10.0.0.0/8, or an address"
    )
    host_text, _, network = entry.strip().partition("=")
    try:
        parts = urlsplit(f"//{host_text}")
        name, port = (parts.hostname or "").rstrip("."), parts.port
        networks = (ip_network(network, strict=False),) if network else _networks(name)
    except ValueError:
        raise ValueError(message) from None
    if not name or " " in host_text or parts.path or parts.username is not None or parts.query or parts.fragment:
        raise ValueError(message)
    return Host(name, port, networks)


def parse_hosts(entries: Iterable[str]) -> tuple[Host, ...]:
    """Parse all entries. Raise ValueError that names the first invalid one."""
    return tuple(parse_host(entry) for entry in entries)


def find_allowed_host(url: str, allowed: Sequence[Host]) -> Host:
    """Return the allowed host of a URL. Raise HostNotAllowed that names the choices."""
    rule = "the address must be a URL such as http://127.0.0.1:8001/v1"
    try:
        parts = urlsplit(url if url.isprintable() else "")
        port = parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise HostNotAllowed(f"{rule}, not {url[:200]!r}") from None
    if not parts.hostname or " " in url or "\\" in url:
        raise HostNotAllowed(f"{rule}, not {url[:200]!r}")
    if parts.username is not None or parts.query or parts.fragment:
        raise HostNotAllowed(f"{rule}, without a name, a password, ? or #")
    name = parts.hostname.rstrip(".")
    for host in allowed:
        if host.name == name and host.port in (None, port):
            return host
    choices = ", ".join(_describe(host) for host in allowed) or "none"
    raise HostNotAllowed(f"{name}:{port} is not one of the allowed judge hosts: {choices}")


def addresses(host: Host, port: int, look_up: Callable[..., Any] = socket.getaddrinfo) -> list[str]:
    """Return the host's present addresses, all of them permitted. Raise HostNotAllowed, OSError."""
    entries = look_up(host.name, port, type=socket.SOCK_STREAM)
    texts = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for text in texts:
        if not host.permits(ip_address(text.partition("%")[0])):
            raise HostNotAllowed(
                f"{host.name} has the address {text}, which is not public and which no admin has allowed"
            )
    return texts


def _networks(name: str) -> tuple[Network, ...]:
    """Return the networks of an address: itself; of localhost: this machine; of another name: none, for any public
    address."""
    if name.lower() == "localhost":
        return LOOPBACK
    try:
        return (ip_network(name),)
    except ValueError:
        return ()


def _describe(host: Host) -> str:
    name = f"[{host.name}]" if ":" in host.name else host.name
    return name if host.port is None else f"{name}:{host.port}"
