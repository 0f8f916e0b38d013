"""The address of the adapter server and the token for it: from the config, or from the registry of a site."""

from __future__ import annotations

import http.client
import urllib.error
from dataclasses import dataclass, field

from workers.bearer import BadToken, read_token
from workers.client.registry import Refused, find_service
from workers.config import AdapterServerConfig
from workers.config.resources import is_started_by_site
from workers.outgoing import Entries
from workers.outgoing.run_hosts import offered_hosts, run_hosts

FINAL = (400, 401, 403, 404, 405, 413, 422)
"""Statuses that another try does not change."""


class ServerLost(Exception):
    """The server is down, hangs or fails for now. The message completes `the server …`. `status` is that of its reply,
    0 without one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ServerRefused(Exception):
    """The server will not serve this request. The message completes `the server …`. `status` and `reply` are those of
    its reply; the reply is not for messages."""

    def __init__(self, message: str, status: int = 0, reply: str = "") -> None:
        super().__init__(message)
        self.status, self.reply = status, reply


@dataclass(frozen=True)
class Address:
    """A server's URL without a slash at its end, the entries of the hosts that it may have (None: any), and the token
    for it; empty for none."""

    url: str
    hosts: Entries
    token: str = field(default="", repr=False)


def find_address(config: AdapterServerConfig) -> Address:
    """Return where the server is now. Raise ServerLost if it may come back, and ServerRefused otherwise."""
    if not config.is_registered:
        return Address(config.server.rstrip("/"), run_hosts(), _read_token(config.token_file))
    try:
        offer = find_service(config.site, config.site_token_file, config.kind, config.server)
    except (Refused, OSError, http.client.HTTPException, ValueError) as error:
        message = f"{config.server} could not be looked up on {config.site or 'a site'}: {error}"
        raise (ServerRefused if _is_permanent(error) else ServerLost)(message) from error
    if offer is None:
        raise ServerLost(
            f"{config.server} is not registered on {config.site} as a living service of kind {config.kind}"
        )
    hosts = offered_hosts(offer.hosts)
    if is_started_by_site():
        # This process has the site's rights, and the path of an offer comes from another program.
        return Address(offer.address.rstrip("/"), hosts, offer.token)
    return Address(offer.address.rstrip("/"), hosts, offer.token or _read_token(offer.token_file or config.token_file))


def _read_token(file: str) -> str:
    """Return the token in a file, empty without a file. It is read each time, so that a renewed one is used."""
    try:
        return read_token(file) if file else ""
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, BadToken) as error:
        raise ServerRefused(f"has a token that cannot be read: {error}") from error
    except OSError as error:
        raise ServerLost(f"has a token that cannot be read: {error}") from error


def _is_permanent(error: Exception) -> bool:
    """Return whether waiting does not help: the site refuses or is none, or the token for it is missing."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in FINAL
    return isinstance(error, (Refused, FileNotFoundError, PermissionError, ValueError))
