"""Which server, and the token for it: from the environment, else from a file that only its owner reads."""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from esweb.cli.errors import BAD_INPUT, NOT_ALLOWED, Failure


@dataclass(frozen=True)
class Account:
    """A server's address, without a slash at its end, and a token for it."""

    url: str
    token: str


def folder() -> Path:
    """Where the user's programs keep their settings."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "esweb"


def account_file() -> Path:
    """The file that `login` writes."""
    return folder() / "account.json"


def account() -> Account:
    """ESWEB_URL and ESWEB_TOKEN, else what `login` kept. Raises Failure where neither is there."""
    if os.environ.get("ESWEB_URL") and os.environ.get("ESWEB_TOKEN"):
        return Account(checked(os.environ["ESWEB_URL"]), os.environ["ESWEB_TOKEN"])
    try:
        kept = json.loads(account_file().read_text(encoding="utf-8"))
        return Account(kept["url"], kept["token"])
    except FileNotFoundError:
        raise Failure(NOT_ALLOWED, "not signed in: `esweb login URL`, or set ESWEB_URL and ESWEB_TOKEN") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(
            BAD_INPUT, f"{account_file()} cannot be read ({error}): `esweb login URL` makes it anew"
        ) from error


def keep(account: Account) -> Path:
    """Writes the account, for its owner's eyes alone from the first byte on. Raises Failure."""
    file = account_file()
    fresh = file.with_suffix(f".{os.getpid()}")
    try:
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            json.dump(asdict(account), stream)
        fresh.replace(file)
    except OSError as error:
        raise Failure(BAD_INPUT, f"{file} cannot be written: {error.strerror}") from error
    return file


def checked(url: str) -> str:
    """The address without a slash at its end. Raises Failure where it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise Failure(BAD_INPUT, f"the server's address must look like https://esweb.example, not {url!r}")
    return url.rstrip("/")


def is_overheard(url: str) -> bool:
    """True where the token would travel readable through a network."""
    host = urlsplit(url).hostname or ""
    if urlsplit(url).scheme == "https" or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
