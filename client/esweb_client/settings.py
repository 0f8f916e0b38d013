"""Settings of a run: arguments of `init`, else the environment, else defaults."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esweb_client.connection import Server, Unreachable
from esweb_client.notices import warn_once
from esweb_client.values import clean_text

MODES = ("online", "offline", "disabled")
RANKS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "LOCAL_RANK")
MAX_NAME, MAX_GROUP, MAX_TAG, MAX_TAGS, MAX_TEXT = 200, 100, 50, 50, 10_000
MIN_LOST_AFTER_SECONDS, MAX_LOST_AFTER_SECONDS = 1.0, 30 * 86_400.0
DEFAULT_PROJECT = "uncategorized"
DEFAULT_FOLDER = "esweb-runs"
ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
METHOD = re.compile(r"[a-z0-9_-]{1,20}")
SERVER_METHODS = ("evaluate", "probe", "audit", "scorer")
"""Methods of runs that only the server makes."""


@dataclass(frozen=True)
class Settings:
    """Settings of one start of a run. `server` is the address and token as given; empty parts are looked up."""

    mode: str
    id: str
    start: str
    project: str
    experiment: int | None
    name: str
    group: str
    tags: tuple[str, ...]
    note: str
    method: str
    seed: int | None
    folder: Path
    url: str
    token: str
    lost_after_seconds: float

    def find_server(self) -> Server:
        """Return the server and token, looked up each time: they may be renewed. Raise Unreachable if there is none."""
        return find_server(self.url, self.token)

    def request(self) -> dict[str, Any]:
        """Return these settings as the server's API names them."""
        target = {"project": self.project} if self.experiment is None else {"experiment": self.experiment}
        seed = {} if self.seed is None else {"seed": self.seed}
        texts = {"name": self.name, "note": self.note, "group": self.group, "method": self.method}
        return {
            "kind": "external",
            **target,
            **{key: text for key, text in texts.items() if text},
            **seed,
            "tags": list(self.tags),
            "id": self.id,
            "start": self.start,
            "lost_after_seconds": min(max(self.lost_after_seconds, MIN_LOST_AFTER_SECONDS), MAX_LOST_AFTER_SECONDS),
        }


def read_settings(arguments: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of a run. Raise ValueError for an argument that cannot mean anything."""

    def text(name: str, variable: str, default: str = "") -> str:
        value = arguments.get(name)
        return clean_text(environment.get(variable, "") or default if value is None else value, MAX_TEXT)

    experiment, seed = arguments.get("experiment"), arguments.get("seed")
    tags = arguments.get("tags") or environment.get("ESWEB_TAGS", "")
    return Settings(
        mode=_mode(text("mode", "ESWEB_MODE", "online"), environment),
        id=_check(
            ID, text("id", "ESWEB_RUN_ID", uuid.uuid4().hex[:12]), "id", "1 to 64 of A-Z, a-z, 0-9, '.', '_', '-'"
        ),
        start=uuid.uuid4().hex,
        project=text("project", "ESWEB_PROJECT").strip()[:MAX_NAME] or DEFAULT_PROJECT,
        experiment=None if experiment is None else _whole("experiment", experiment),
        name=text("name", "ESWEB_RUN_NAME")[:MAX_NAME],
        group=text("group", "ESWEB_RUN_GROUP")[:MAX_GROUP],
        tags=clean_tags(tags),
        note=text("note", "ESWEB_NOTE"),
        method=_method(text("method", "ESWEB_METHOD")),
        seed=None if seed is None else _whole("seed", seed),
        folder=Path(text("dir", "ESWEB_DIR", DEFAULT_FOLDER)).absolute(),
        url=text("server_url", "ESWEB_URL"),
        token=text("token", "ESWEB_TOKEN"),
        lost_after_seconds=_seconds("lost_after_seconds", arguments.get("lost_after_seconds", 300)),
    )


def find_server(url: str = "", token: str = "") -> Server:
    """Return the server at this address, else that of the environment or of `esweb login`, with its token.

    The token of the account is sent only to the address of the account. Raise Unreachable if there is none.
    """
    token = token or os.environ.get("ESWEB_TOKEN", "") or _token_in_file(os.environ.get("ESWEB_TOKEN_FILE", ""))
    address = (url or os.environ.get("ESWEB_URL", "")).rstrip("/")
    if not (address and token):
        account_url, account_token = _account()
        address = address or account_url
        token = token or (account_token if address == account_url else "")
    if not (address and token):
        missing = "token" if address else "address of a server"
        raise Unreachable(f"there is no {missing}: set ESWEB_URL and ESWEB_TOKEN, or sign in with `esweb login URL`")
    return Server(address, token)


def rank(environment: Mapping[str, str] = os.environ) -> int:
    """Return the number of this process among those of a distributed training; 0 if it is the only one."""
    # torchrun inside of srun: RANK counts processes, and SLURM_PROCID only nodes.
    names = ("RANK",) if environment.get("RANK", "").isdecimal() else RANKS
    numbers = [int(environment[name]) for name in names if environment.get(name, "").isdecimal()]
    return max(numbers, default=0)


def _token_in_file(path: str) -> str:
    if not path:
        return ""
    try:
        text = Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        warn_once("token file", f"the token cannot be read from {path}: {type(error).__name__}")
        return ""
    return text if text.isprintable() and " " not in text else ""


def _account() -> tuple[str, str]:
    """Return the address and token that `esweb login` stored; empty if there are none."""
    # Here, because scripts that never sign in need none of the command line.
    from esweb_client.cli.account import account_file
    from esweb_client.spool import read_json

    stored = read_json(account_file())
    return str(stored.get("url", "")), str(stored.get("token", ""))


def _mode(mode: str, environment: Mapping[str, str]) -> str:
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    return "disabled" if environment.get("ESWEB_DISABLED", "").lower() in ("1", "true", "yes", "on") else mode


def _method(method: str) -> str:
    if method and method in SERVER_METHODS:
        raise ValueError(f"method must be the name of a training method such as es, grpo or sft, not {method!r}")
    return _check(METHOD, method, "method", "1 to 20 of a-z, 0-9, '_', '-', such as es, grpo or sft") if method else ""


def _check(pattern: re.Pattern[str], text: str, name: str, rule: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(f"{name} must be {rule}, not {text!r}")
    return text


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    return value


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ValueError(f"{name} must be a number of seconds above 0, not {value!r}")
    return float(value)


def clean_tags(tags: str | Iterable[object]) -> tuple[str, ...]:
    """Return tags as the server stores them: each once, at most 50. A text has them between commas."""
    parts = tags.split(",") if isinstance(tags, str) else [str(tag).replace(",", " ") for tag in tags]
    cut = (clean_text(part.strip(), MAX_TAG).strip() for part in parts)
    return tuple(dict.fromkeys(tag for tag in cut if tag))[:MAX_TAGS]
