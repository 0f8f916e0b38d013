"""Hosts that an admin allowed in a setting, and the one rule that decides whether a URL may be called.

    node7                    a name, at any port; which addresses it may have depends on the setting
    node7:8000               that name at that port alone
    gpu7.lab=10.0.0.0/8      a name whose addresses are in that network
    .lab=10.0.0.0/8          every name that ends in .lab, with addresses in that network
    localhost                this machine
    10.0.0.5   [::1]         an address

A URL names a host exactly as an entry does: another spelling of an address is another host.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from workers.outgoing.ip_addresses import (
    LOOPBACK,
    Address,
    Network,
    contained_addresses,
    is_elsewhere,
    is_public,
    translated_prefix,
)

Entries: TypeAlias = Sequence[str] | None
"""Entries of allowed hosts; None for any address, as of an admin."""
PORTS = {"http": 80, "https": 443}
RULE = "the address must be a URL such as http://127.0.0.1:8001/v1"
ENTRY_FORMS = (
    "write a name, NAME:PORT, NAME=NETWORK such as gpu7.lab=10.0.0.0/8, .DOMAIN=NETWORK such as .lab=10.0.0.0/8, or an "
    "address"
)
MAX_TEXT = 200


class HostNotAllowed(Exception):
    """Error for a host that no admin allowed, or whose present address is not allowed. The message may be shown."""


@dataclass(frozen=True)
class Policy:
    """A setting that lists hosts. accepts: the addresses that a name without a network may have."""

    setting: str
    noun: str
    accepts: Callable[[Address], bool]


SCORERS = Policy("ESWEB_SCORER_HOSTS", "scorer hosts", is_elsewhere)
"""Scorers and all other services that members' runs call: in any network, but not on this machine."""
JUDGES = Policy("ESWEB_JUDGE_HOSTS", "judge hosts", is_public)


@dataclass(frozen=True)
class Host:
    """An allowed host. port: None for any. networks: the networks of its addresses; empty for the rule of names."""

    name: str
    port: int | None = None
    networks: tuple[Network, ...] = ()
    policy: Policy = SCORERS

    def permits(self, address: Address) -> bool:
        """Return whether the host may have that address."""
        if not self.networks:
            return self.policy.accepts(address)
        if prefix := translated_prefix(address):
            # An admin allows such an address by its own prefix, or by the addresses to which it is translated.
            own = [n for n in self.networks if isinstance(n, IPv6Network) and n.subnet_of(prefix)]
            contained = contained_addresses(address)
            return any(address in n for n in own) or all(map(self._is_in_networks, contained))
        return self._is_in_networks(address)

    def _is_in_networks(self, address: Address) -> bool:
        return any(address in network for network in self.networks)

    def matches(self, name: str, port: int) -> bool:
        """Return whether a URL with this name and port names the host."""
        is_named = name.endswith(self.name) if self.name.startswith(".") else name == self.name
        return is_named and self.port in (None, port)


def parse_host(entry: str, policy: Policy = SCORERS) -> Host:
    """Parse the host of an entry. Raise ValueError with the reason."""
    message = f"{entry!r} is not a host; {ENTRY_FORMS}"
    host_text, _, network = entry.strip().partition("=")
    # An IPv6 address may be written without brackets.
    host_text = f"[{host_text}]" if host_text.count(":") > 1 and not host_text.startswith("[") else host_text
    try:
        parts = urlsplit(f"//{host_text}")
        name, port = (parts.hostname or "").removesuffix("."), parts.port
        networks = (ip_network(network, strict=False),) if network else _networks(name)
    except ValueError:
        raise ValueError(message) from None
    is_host = name and " " not in host_text and parts.username is None
    if not is_host or parts.path or parts.query or parts.fragment or (name.startswith(".") and not network):
        raise ValueError(message)
    return Host(name, port, networks, policy)


def find_allowed_host(url: str, allowed: Iterable[Host], policy: Policy = SCORERS) -> Host:
    """Return the allowed host that a URL names. Raise HostNotAllowed that names the choices."""
    allowed = tuple(allowed)
    name, port = _split(url)
    for host in allowed:
        if host.matches(name, port):
            return replace(host, name=name)
    choices = ", ".join(map(_describe, allowed)) or "none"
    raise HostNotAllowed(f"{name}:{port} is not one of the allowed {policy.noun}: {choices}")


def check_address(url: str, entries: Entries) -> Host | None:
    """Return the host that entries of ESWEB_SCORER_HOSTS allow for a URL; None if any address may be called. Raise
    HostNotAllowed. An entry that cannot be read allows nothing."""
    if entries is None:
        return None
    try:
        return find_allowed_host(url, _parse_valid(entries))
    except HostNotAllowed as error:
        raise HostNotAllowed(f"{error}; an admin can add a host to {SCORERS.setting}") from None


def is_allowed(url: str, entries: Entries) -> bool:
    """Return whether entries of ESWEB_SCORER_HOSTS allow a URL."""
    try:
        check_address(url, entries)
    except HostNotAllowed:
        return False
    return True


def addresses(host: Host, port: int, look_up: Callable[..., Any] | None = None) -> list[str]:
    """Return the host's present addresses, all of them permitted. Raise HostNotAllowed, OSError."""
    entries = (look_up or socket.getaddrinfo)(host.name, port, type=socket.SOCK_STREAM)
    texts = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for text in texts:
        if not host.permits(ip_address(text.partition("%")[0])):
            raise HostNotAllowed(
                f"{host.name} has the address {text}, which {host.policy.setting} does not allow: an admin can write "
                f"{host.name}=NETWORK there, such as {host.name}=10.0.0.0/8"
            )
    return texts


def _parse_valid(entries: Sequence[str]) -> list[Host]:
    hosts = []
    for entry in entries:
        try:
            hosts.append(parse_host(entry))
        except ValueError:
            # One wrong entry of an admin does not stop the services at all other hosts.
            continue
    return hosts


def _split(url: str) -> tuple[str, int]:
    """Return the name and the port of a URL. Raise HostNotAllowed unless every program reads the same host in it."""
    is_plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    try:
        parts = urlsplit(url if is_plain else "")
        port = PORTS[parts.scheme] if parts.port is None else parts.port
    except (ValueError, KeyError):
        raise HostNotAllowed(f"{RULE}, not {url[:MAX_TEXT]!r}") from None
    if not parts.hostname or not port:
        raise HostNotAllowed(f"{RULE}, not {url[:MAX_TEXT]!r}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise HostNotAllowed(f"{RULE}, without a name, a password, ? or #")
    return parts.hostname.removesuffix("."), port


def _networks(name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of this machine for localhost, an address itself, and nothing for another name."""
    if name == "localhost":
        return LOOPBACK
    try:
        return (ip_network(name),)
    except ValueError:
        return ()


def _describe(host: Host) -> str:
    name = f"[{host.name}]" if ":" in host.name else host.name
    return name if host.port is None else f"{name}:{host.port}"
