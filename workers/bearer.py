"""Send a token to one address: it follows no redirect, and no error repeats it. Stdlib only."""

from __future__ import annotations

import ipaddress
import json
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

MAX_TOKEN_BYTES = 4096
HIDDEN = "•••"
SHORTEST = 4
"""Characters of a token, or of its beginning, that are looked for; fewer would be found in any word."""


class BadToken(ValueError):
    """A file that holds no token. The message does not repeat what it holds."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A server that sends elsewhere is an error: the token is for its address alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirects)
"""Open requests that carry a token. A redirect raises HTTPError with its status, from 300 to 399."""


def read_token(file: Path | str) -> str:
    """Return the token in a file. Raise OSError, and BadToken if the file is not one line of printable ASCII.

    http.client repeats a header that it refuses in its error, so that a wrong file must not get there.
    """
    with Path(file).open("rb") as opened:
        text = opened.read(MAX_TOKEN_BYTES + 1).strip()
    if not text or len(text) > MAX_TOKEN_BYTES or not all(33 <= byte <= 126 for byte in text):
        raise BadToken(f"{file} contains no token, which is one word of at most {MAX_TOKEN_BYTES} printable characters")
    return text.decode("ascii")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, so that nothing sent to it leaves the machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bearer(token: str) -> dict[str, str]:
    """Return the header that shows a token; none for an empty one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def redacted(text: str, token: str) -> str:
    """Return the text without the token as it is and as JSON, Python or a URL writes it. Where the text was cut within
    the token, the beginning of the token is removed as well."""
    for spelling in dict.fromkeys(_spellings(token)):
        text = text.replace(spelling, HIDDEN)
        lengths = range(len(spelling) - 1, SHORTEST - 1, -1)
        cut = next((n for n in lengths if text.endswith(spelling[:n])), 0)
        text = f"{text[:-cut]}{HIDDEN}" if cut else text
    return text


def _spellings(token: str) -> list[str]:
    if len(token) < SHORTEST:
        return []
    return [token, json.dumps(token)[1:-1], repr(token)[1:-1], urllib.parse.quote(token, safe="")]
