"""Check the config of a Ray cluster. A dashboard's host can run any code, so hosts must be listed in
ESWEB_RAY_HOSTS."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from runs.clusters.settings.slurm import path_errors, variable_errors

PATHS = ("token_file", "python", "project", "ray_python")
RAY_KEYS = (
    "dashboard",
    "token_file",
    "resources",
    "start_seconds",
    "autoscales",
    "env",
    "python",
    "project",
    "ray_python",
)
RAY_EXAMPLE = (
    '{"dashboard": "http://127.0.0.1:8265", "token_file": "/etc/esweb/ray-token", "env": {"HF_HOME": "/shared/hf"}}'
)


def ray_errors(config: dict[str, Any]) -> Iterator[str]:
    """Yield a message for each error in the keys that only Ray clusters have, and in `env` and paths."""
    yield from _dashboard(config.get("dashboard", ""))
    start_seconds = config.get("start_seconds", 0)
    if isinstance(start_seconds, bool) or not isinstance(start_seconds, int) or start_seconds < 0:
        yield f"start_seconds must be a whole number from 0, not {start_seconds!r}"
    if not isinstance(autoscales := config.get("autoscales", False), bool):
        yield f"autoscales must be true or false, not {autoscales!r}"
    resources = config.get("resources", {})
    if not isinstance(resources, dict) or not all(name and _is_amount(amount) for name, amount in resources.items()):
        yield f'resources must be an object of amounts such as {{"accelerator_type:A100": 0.001}}, not {resources!r}'
    yield from variable_errors(config.get("env", {}))
    yield from path_errors(config, PATHS)


def _dashboard(address: Any) -> Iterator[str]:
    rule = "dashboard must be an address such as http://127.0.0.1:8265"
    try:
        parts = urlsplit(address if isinstance(address, str) and address.isprintable() else "")
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        yield f"{rule}, not {address!r}"
        return
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port or " " in parts.netloc:
        yield f"{rule}, not {address!r}"
    elif parts.username is not None or parts.query or parts.fragment:
        yield f"{rule}, without a name, a password, ? or #; put a token into the file of token_file"
    elif parts.hostname not in (allowed := [host.strip("[]").lower() for host in settings.RAY_HOSTS]):
        yield (
            f"dashboard: {parts.hostname} is not one of the hosts with a Ray that this server may use, "
            f"{', '.join(allowed)}; its operator can add hosts to ESWEB_RAY_HOSTS"
        )


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
