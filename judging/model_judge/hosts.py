"""Allowed hosts of judges' servers. An admin names them in ESWEB_JUDGE_HOSTS; `workers.outgoing` has the rule.

api.example.com          a name: any public address that it has, at any port
gpu7.lab=10.0.0.0/8      a name whose addresses are in that network
localhost:8001           this machine, at that port alone
127.0.0.1   [::1]        an address
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workers.outgoing import JUDGES, Host, HostNotAllowed, addresses, parse_host
from workers.outgoing import find_allowed_host as find_host

__all__ = ["Host", "HostNotAllowed", "addresses", "find_allowed_host", "parse_hosts"]


def parse_hosts(entries: Iterable[str]) -> tuple[Host, ...]:
    """Parse all entries. Raise ValueError that names the first invalid one."""
    return tuple(parse_host(entry, JUDGES) for entry in entries)


def find_allowed_host(url: str, allowed: Sequence[Host]) -> Host:
    """Return the allowed host of a URL. Raise HostNotAllowed that names the choices."""
    return find_host(url, allowed, JUDGES)
