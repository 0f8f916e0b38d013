"""Client of esweb's service registry: a service registers itself while it lives, and others find it. Stdlib only.

    with register_service("https://esweb.example", "/srv/secrets/serve", Offer("scorer", "safety-7b", "http://node7")):
        serve()

    scorer = find_service("https://esweb.example", "/srv/secrets/read", "scorer")

Tokens are read from files each time, so that a renewed one takes effect immediately.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workers.bearer import OPENER, BadToken, bearer, read_token, redacted

HEARTBEATS_PER_LEASE = 4
RETRY_SECONDS = 2.0
CALL_SECONDS = 10.0
FINAL_CODES = (400, 401, 403, 413, 422)
"""Status codes that a repeated request does not change."""


class Refused(Exception):
    """The site refuses the service; the message gives the reason."""


class TakenOver(Exception):
    """Another process has registered under the same name."""


@dataclass(frozen=True)
class Offer:
    """A service: its kind (scorer, vllm, …), its name, and its address. `token_file` is the path at which its callers
    find its token, on their machines. To runs that it has started, a site gives `token`, the token itself, and `hosts`,
    the entries of the hosts that its owner may use; None allows any."""

    kind: str
    name: str
    address: str
    health_path: str = ""
    token_file: str = ""
    version: str = ""
    capabilities: dict[str, Any] = field(default_factory=dict)
    lease_seconds: int = 60
    token: str = field(default="", repr=False)
    hosts: list[str] | None = field(default_factory=list)


@contextlib.contextmanager
def register_service(site: str, token_file: Path | str, offer: Offer) -> Iterator[Registration]:
    """Register, send heartbeats while the block runs, and remove the service at its end. Raise Refused.

    If the site is away, the service runs while registering is retried.
    """
    registration = Registration(Site(site, Path(token_file)), offer)
    with contextlib.suppress(OSError, http.client.HTTPException):
        registration.register()
    thread = threading.Thread(target=registration.run, name="registry", daemon=True)
    thread.start()
    try:
        yield registration
    finally:
        registration.end.set()
        thread.join(2 * CALL_SECONDS)
        registration.withdraw()


def find_service(site: str, token_file: Path | str, kind: str, name: str = "") -> Offer | None:
    """Return the living service to call, or None. Raise Refused, OSError and HTTPException."""
    query = {"kind": kind, **({"name": name} if name else {})}
    answer = Site(site, Path(token_file)).call("GET", f"/services?{urllib.parse.urlencode(query)}")
    items = answer["items"]
    return Offer(**{name: items[0][name] for name in Offer.__dataclass_fields__ if name in items[0]}) if items else None


class Site:
    """An esweb and the token for it."""

    def __init__(self, address: str, token_file: Path) -> None:
        if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
            raise ValueError(f"the site's address must begin with http:// or https://, not {address!r}")
        self.base, self.token_file = f"{address.rstrip('/')}/api/v1", token_file

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the reply's JSON, or None if it is empty. Raise Refused, OSError (HTTPError) and HTTPException."""
        try:
            token = read_token(self.token_file)
        except BadToken as error:
            raise Refused(str(error)) from error
        headers = {**bearer(token), "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, headers, method=method)  # noqa: S310 checked
        try:
            with OPENER.open(request, timeout=CALL_SECONDS) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            if error.code in FINAL_CODES or 300 <= error.code < 400:
                reply = error.read(2000).decode(errors="replace")
                raise Refused(redacted(f"{error.code} {reply}", token)) from error
            raise
        return json.loads(text) if text else None


class Registration:
    """One process's registration of a name. `is_taken_over` is true once another process has the name."""

    def __init__(self, site: Site, offer: Offer) -> None:
        self.site, self.offer = site, offer
        self.instance = secrets.token_hex(16)
        self.path = f"/services/{urllib.parse.quote(offer.kind, '')}/{urllib.parse.quote(offer.name, '')}"
        self.is_registered = self.is_taken_over = False
        self.end = threading.Event()

    def register(self) -> None:
        """Register. Raise Refused, OSError and HTTPException."""
        offer = {name: value for name, value in asdict(self.offer).items() if name not in ("token", "hosts")}
        self.site.call("POST", "/services", {**offer, "instance": self.instance})
        self.is_registered = True

    def beat(self) -> None:
        """Extend the lease, or register if the site does not know the service. Raise as `register`, and TakenOver."""
        if not self.is_registered:
            self.register()
            return
        try:
            self.site.call("PUT", f"{self.path}/beat", {"instance": self.instance})
        except urllib.error.HTTPError as error:
            if error.code == 409:
                raise TakenOver(f"another process has registered as {self.offer.kind} {self.offer.name}") from error
            if error.code != 404:
                raise
            self.register()

    def run(self) -> None:
        """Send heartbeats until the end is set, another process takes the name, or the site refuses."""
        regular = self.offer.lease_seconds / HEARTBEATS_PER_LEASE
        pause = regular if self.is_registered else min(RETRY_SECONDS, regular)
        while not self.end.wait(pause):
            pause = regular
            try:
                self.beat()
            except TakenOver as error:
                self.is_taken_over = True
                _log(f"no longer registered: {error}")
                return
            except Refused as error:
                _log(f"no longer registered, because the site refused: {error}")
                return
            except (OSError, http.client.HTTPException) as error:
                pause = min(RETRY_SECONDS, regular)
                _log(f"the site could not be reached; retrying in {pause:g} s: {error}")

    def withdraw(self) -> None:
        """Remove the service, if it is still this process's. If the site is away, the lease expires there."""
        if not self.is_registered or self.is_taken_over:
            return
        try:
            self.site.call("DELETE", f"{self.path}?instance={self.instance}")
        except (OSError, http.client.HTTPException, Refused) as error:
            _log(f"could not be deregistered, so its lease will expire: {error}")


def _log(message: str) -> None:
    print(f"registry: {message}", file=sys.stderr, flush=True)
