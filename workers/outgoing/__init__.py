"""Requests to addresses that users enter: which are allowed, how to connect, and what may be told about a reply.

    ip_addresses.py  which address a packet really reaches, and which of them no name may have
    hosts.py         lists of allowed hosts, and the one rule for a URL
    connections.py   connections to the address that was checked
    replies.py       texts about failed requests, without anything that a server sent
    json_text.py     text of a reply in which JSON is read leniently
    lenient_json.py  JSON as models and small servers write it
    run_hosts.py     the allowed hosts of a run, from the environment that its site sets

The site and the nodes apply the same rule. Stdlib only.
"""

from workers.outgoing.connections import connect_to, opener
from workers.outgoing.hosts import (
    JUDGES,
    SCORERS,
    Entries,
    Host,
    HostNotAllowed,
    addresses,
    check_address,
    find_allowed_host,
    is_allowed,
    parse_host,
)
from workers.outgoing.ip_addresses import Address
from workers.outgoing.replies import InvalidReply, describe_failure, describe_status, parse_json

__all__ = [
    "JUDGES",
    "SCORERS",
    "Address",
    "Entries",
    "Host",
    "HostNotAllowed",
    "InvalidReply",
    "addresses",
    "check_address",
    "connect_to",
    "describe_failure",
    "describe_status",
    "find_allowed_host",
    "is_allowed",
    "opener",
    "parse_host",
    "parse_json",
]
