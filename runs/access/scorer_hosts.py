"""Hosts of members' scorers that an admin allowed in ESWEB_SCORER_HOSTS, and the addresses that they may have.

    node7                    a name: any address but this machine's own, link-local and multicast ones, at any port
    node7:8000               that name at that port alone
    gpu7.lab=10.0.0.0/8      a name whose addresses are in that network
    localhost                this machine
    10.0.0.5   [::1]         an address

A name is looked up once for each connection, and the checked address is the one that is connected to.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias
from urllib.parse import urlsplit

from workers.scorer.scores import ScorerRefused

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
PORTS = {"http": 80, "https": 443}
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


class HostNotAllowed(ScorerRefused):
    """Error for a host whose present address no admin allowed. The message may be shown."""


@dataclass(frozen=True)
class ScorerHost:
    """An allowed host. port: None for any port. networks: the networks of its addresses; empty for the rule of
    names."""

    name: str
    port: int | None
    networks: tuple[Network, ...]

    def permits(self, address: Address) -> bool:
        """Return whether the host may have that address."""
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            return self.permits(address.ipv4_mapped)
        if self.networks:
            return any(address in network for network in self.networks)
        return not (address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified)


def allowed_host(url: str, entries: Iterable[str]) -> ScorerHost | None:
    """Return the allowed host that a URL names, or None. An entry that cannot be read allows nothing."""
    try:
        parts = urlsplit(url)
        name, port = (parts.hostname or "").rstrip("."), parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    hosts = filter(None, map(_host, entries))
    return next((host for host in hosts if host.name == name and host.port in (None, port)), None)


def resolver_of(host: ScorerHost) -> Callable[[str, int], str]:
    """Return a function (name, port) -> the address to connect to.

    The function looks up the name that the admin wrote, not the name in the call. It raises HostNotAllowed, and OSError
    if there is no such name.
    """

    def resolve(_: str, port: int) -> str:
        if host.port not in (None, port):
            raise HostNotAllowed(f"{host.name} is allowed at port {host.port} in ESWEB_SCORER_HOSTS, not at {port}")
        entries = socket.getaddrinfo(host.name, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        for address in addresses:
            if not host.permits(ip_address(address.partition("%")[0])):
                raise HostNotAllowed(
                    f"{host.name} has the address {address}, which ESWEB_SCORER_HOSTS does not allow: an admin can "
                    f"write {host.name}=NETWORK there, such as {host.name}=10.0.0.0/8"
                )
        return addresses[0]

    return resolve


def _host(entry: str) -> ScorerHost | None:
    host_text, _, network = entry.strip().partition("=")
    # An IPv6 address may be written without brackets, as in earlier versions.
    host_text = f"[{host_text}]" if host_text.count(":") > 1 and not host_text.startswith("[") else host_text
    try:
        parts = urlsplit(f"//{host_text}")
        name, port = (parts.hostname or "").rstrip("."), parts.port
        networks = (ip_network(network, strict=False),) if network else _networks(name)
    except ValueError:
        return None
    is_host = name and not (parts.path or parts.query or parts.fragment or parts.username)
    return ScorerHost(name, port, networks) if is_host else None


def _networks(name: str) -> tuple[Network, ...]:
    """Return the networks of this machine for localhost, an address itself, and nothing for another name."""
    if name == "localhost":
        return LOOPBACK
    try:
        return (ip_network(name),)
    except ValueError:
        return ()
