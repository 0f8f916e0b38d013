"""The address of a client, by which callers without a valid token or session are counted.

A client can write anything into `X-Forwarded-For`. A proxy appends the address that it sees, so an entry is true only
if a proxy of this site wrote it: the header is read from its end, as far as ESWEB_PROXIES names the writers.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest

IPV6_PREFIX = 64
"""A client with IPv6 has at least so large a network, all addresses of which are its own."""
PORT = re.compile(r"\[([^\]]*)\](?::\d{1,5})?|([^:]*):\d{1,5}")
"""An address with a port, which some proxies write: [2001:db8::1]:4711 or 192.0.2.1:4711."""
Address = IPv4Address | IPv6Address


def client_address(request: HttpRequest) -> str:
    """Return the address of the client, for IPv6 its network: the right-most one that is no proxy of ours.

    A server on a socket of a file knows no address, and all of its clients have the empty one.
    """
    peer = str(request.META.get("REMOTE_ADDR", ""))
    address = _parse(peer)
    if address is None:
        return peer
    for entry in reversed(request.headers.get("X-Forwarded-For", "").split(",")):
        if not _is_proxy(address) or (before := _parse(entry)) is None:
            break
        address = before
    return str(IPv6Network((address, IPV6_PREFIX), strict=False) if address.version == 6 else address)


def _is_proxy(address: Address) -> bool:
    return any(address in network for network in settings.PROXIES)


def _parse(text: str) -> Address | None:
    """Return the address, an IPv4 address within IPv6 as IPv4; None if the text is none."""
    text = text.strip()
    if with_port := PORT.fullmatch(text):
        text = with_port[1] or with_port[2]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
