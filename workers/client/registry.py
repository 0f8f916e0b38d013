"""A service tells an esweb where it is, for as long as it lives; whoever needs one asks there. Stdlib only.

    with registered("https://esweb.example", "/srv/secrets/serve", Offer("scorer", "safety-7b", "http://node7:8000")):
        serve()

    scorer = found("https://esweb.example", "/srv/secrets/read", "scorer")

Tokens are read from files each time, so that a renewed one is taken at once.
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

BEATS_A_LEASE = 4
RETRY_SECONDS = 2.0
CALL_SECONDS = 10.0
FINAL = (400, 401, 403, 413, 422)
"""Answers that asking again does not change."""


class Refused(Exception):
    """The site does not take it, and says why."""


class TakenOver(Exception):
    """Another process has registered under the same name."""


@dataclass(frozen=True)
class Offer:
    """A service: its kind (scorer, vllm, …), its name, and where it is called. `token_file` is where those who call it
    find its token, on their machines. `token` is the token itself, which a site gives to runs that it has started."""

    kind: str
    name: str
    address: str
    health_path: str = ""
    token_file: str = ""
    version: str = ""
    capabilities: dict[str, Any] = field(default_factory=dict)
    lease_seconds: int = 60
    token: str = field(default="", repr=False)


@contextlib.contextmanager
def registered(site: str, token_file: Path | str, offer: Offer) -> Iterator[Registration]:
    """Registers, beats while the block runs, and takes the service out at its end. Raises Refused.

    A site that is away is waited for, beside the service.
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


def found(site: str, token_file: Path | str, kind: str, name: str = "") -> Offer | None:
    """The living service to call, or None. Raises Refused, OSError and HTTPException."""
    wanted = {"kind": kind, **({"name": name} if name else {})}
    answer = Site(site, Path(token_file)).call("GET", f"/services?{urllib.parse.urlencode(wanted)}")
    items = answer["items"]
    return Offer(**{name: items[0][name] for name in Offer.__dataclass_fields__ if name in items[0]}) if items else None


class Site:
    """An esweb and the token that it is shown."""

    def __init__(self, address: str, token_file: Path) -> None:
        if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
            raise ValueError(f"the site must begin with http:// or https://, not {address!r}")
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
                said = answer.read()
        except urllib.error.HTTPError as error:
            if error.code in FINAL or 300 <= error.code < 400:
                reply = error.read(2000).decode(errors="replace")
                raise Refused(redacted(f"{error.code} {reply}", token)) from error
            raise
        return json.loads(said) if said else None


class Registration:
    """One process's hold on a name. `is_taken_over` once another one has it."""

    def __init__(self, site: Site, offer: Offer) -> None:
        self.site, self.offer = site, offer
        self.instance = secrets.token_hex(16)
        self.path = f"/services/{urllib.parse.quote(offer.kind, '')}/{urllib.parse.quote(offer.name, '')}"
        self.is_registered = self.is_taken_over = False
        self.end = threading.Event()

    def register(self) -> None:
        """Raises Refused, OSError and HTTPException."""
        offer = {name: value for name, value in asdict(self.offer).items() if name != "token"}
        self.site.call("POST", "/services", {**offer, "instance": self.instance})
        self.is_registered = True

    def beat(self) -> None:
        """Prolongs the lease, or registers where the site knows nothing of it. Raises as `register`, and TakenOver."""
        if not self.is_registered:
            self.register()
            return
        try:
            self.site.call("PUT", f"{self.path}/beat", {"instance": self.instance})
        except urllib.error.HTTPError as error:
            if error.code == 409:
                raise TakenOver(f"another process is {self.offer.kind} {self.offer.name} now") from error
            if error.code != 404:
                raise
            self.register()

    def run(self) -> None:
        """Beats until the end is set, the name is another's, or the site refuses."""
        regular = self.offer.lease_seconds / BEATS_A_LEASE
        pause = regular if self.is_registered else min(RETRY_SECONDS, regular)
        while not self.end.wait(pause):
            pause = regular
            try:
                self.beat()
            except TakenOver as error:
                self.is_taken_over = True
                _say(f"no longer registered: {error}")
                return
            except Refused as error:
                _say(f"no longer registered: the site refuses: {error}")
                return
            except (OSError, http.client.HTTPException) as error:
                pause = min(RETRY_SECONDS, regular)
                _say(f"the site was not reached, next try in {pause:g} s: {error}")

    def withdraw(self) -> None:
        """Takes the service out, where it is still this process's. A site that is away sees its lease run out."""
        if not self.is_registered or self.is_taken_over:
            return
        try:
            self.site.call("DELETE", f"{self.path}?instance={self.instance}")
        except (OSError, http.client.HTTPException, Refused) as error:
            _say(f"not taken out, so its lease runs out: {error}")


def _say(words: str) -> None:
    print(f"registry: {words}", file=sys.stderr, flush=True)
