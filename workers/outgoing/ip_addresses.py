"""IP addresses by what they reach: this machine, the public internet, or an IPv4 address within an IPv6 one.

A gateway translates some IPv6 addresses to IPv4, so that a check of the IPv6 address alone proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
THIS_NETWORK = ip_network("0.0.0.0/8")


def _last_bits(address: int) -> tuple[int, ...]:
    return (address & 0xFFFFFFFF,)


def _of_6to4(address: int) -> tuple[int, ...]:
    return (address >> 80 & 0xFFFFFFFF,)


def _of_teredo(address: int) -> tuple[int, ...]:
    """Return the server, and the client, whose bits are inverted."""
    return (address >> 64 & 0xFFFFFFFF, ~address & 0xFFFFFFFF)


def _of_unknown_form(address: int) -> tuple[int, ...]:
    """Return 0.0.0.0, which nobody may call: each site places the bits elsewhere."""
    return (0,)


TRANSLATED: dict[IPv6Network, Callable[[int], tuple[int, ...]]] = {
    IPv6Network("::/96"): _last_bits,  # IPv4-compatible
    IPv6Network("::ffff:0:0/96"): _last_bits,  # IPv4-mapped
    IPv6Network("::ffff:0:0:0/96"): _last_bits,  # IPv4-translated (SIIT)
    IPv6Network("64:ff9b::/96"): _last_bits,  # NAT64
    IPv6Network("64:ff9b:1::/48"): _of_unknown_form,  # NAT64 of a site
    IPv6Network("2002::/16"): _of_6to4,
    IPv6Network("2001::/32"): _of_teredo,
}
"""Prefix of IPv6 addresses that contain IPv4 addresses -> the function that returns these."""
OWN = (IPv6Address("::"), IPv6Address("::1"))
"""Addresses within the first prefix that contain no IPv4 address."""


def translated_prefix(address: Address) -> IPv6Network | None:
    """Return the prefix of an IPv6 address that contains IPv4 addresses; None for another address."""
    if isinstance(address, IPv4Address) or address in OWN:
        return None
    return next((prefix for prefix in TRANSLATED if address in prefix), None)


def contained_addresses(address: Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses within an IPv6 address, to which gateways translate it."""
    prefix = translated_prefix(address)
    return tuple(map(IPv4Address, TRANSLATED[prefix](int(address)))) if prefix is not None else ()


def is_elsewhere(address: Address) -> bool:
    """Return whether an address is of another machine, of a public or a private network: not this machine's own,
    link-local, site-local, multicast or reserved."""
    if contained := contained_addresses(address):
        return all(map(is_elsewhere, contained))
    is_special = address.is_site_local if isinstance(address, IPv6Address) else address in THIS_NETWORK
    is_special = is_special or address.is_loopback or address.is_link_local or address.is_unspecified
    return not (is_special or address.is_multicast or address.is_reserved)


def is_public(address: Address) -> bool:
    """Return whether an address is of a machine in the public internet."""
    if contained := contained_addresses(address):
        return all(map(is_public, contained))
    return address.is_global and is_elsewhere(address)
