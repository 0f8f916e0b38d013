"""The server's address and token: from the environment, else from a file that only its owner can read."""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from esweb_client.cli.errors import BAD_INPUT, NOT_ALLOWED, Failure


@dataclass(frozen=True)
class Account:
    """A server's address, without a slash at its end, and a token for it."""

    url: str
    token: str


def folder() -> Path:
    """Return the folder in which the user's programs store their settings."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "esweb"


def account_file() -> Path:
    """Return the path of the file that `login` writes."""
    return folder() / "account.json"


def account() -> Account:
    """Return ESWEB_URL and ESWEB_TOKEN, else the account that `login` stored. Raise Failure if there is neither."""
    if os.environ.get("ESWEB_URL") and os.environ.get("ESWEB_TOKEN"):
        return Account(check_url(os.environ["ESWEB_URL"]), os.environ["ESWEB_TOKEN"])
    try:
        stored = json.loads(account_file().read_text(encoding="utf-8"))
        return Account(stored["url"], stored["token"])
    except FileNotFoundError:
        raise Failure(NOT_ALLOWED, "not signed in: `esweb login URL`, or set ESWEB_URL and ESWEB_TOKEN") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(
            BAD_INPUT, f"{account_file()} cannot be read ({error}): create it again with `esweb login URL`"
        ) from error


def save_account(account: Account) -> Path:
    """Write the account, readable by its owner alone from the first byte on. Raise Failure."""
    file = account_file()
    draft = file.with_suffix(f".{os.getpid()}")
    try:
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            json.dump(asdict(account), stream)
        draft.replace(file)
    except OSError as error:
        raise Failure(BAD_INPUT, f"{file} cannot be written: {error.strerror}") from error
    return file


def check_url(url: str) -> str:
    """Return the address without a slash at its end. Raise Failure if it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise Failure(BAD_INPUT, f"the server's address must be a URL such as https://esweb.example, not {url!r}")
    return url.rstrip("/")


def is_unencrypted(url: str) -> bool:
    """Return whether the token would be sent unencrypted through a network."""
    host = urlsplit(url).hostname or ""
    if urlsplit(url).scheme == "https" or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
