"""What may stand in the config of a Ray cluster. Whoever is spoken to there runs what they like: hosts are named."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from runs.clusters.settings.slurm import path_complaints, variable_complaints

PATHS = ("token_file", "python", "project")
RAY_KEYS = ("dashboard", "token_file", "resources", "start_seconds", "env", "python", "project")
RAY_EXAMPLE = (
    '{"dashboard": "http://127.0.0.1:8265", "token_file": "/etc/esweb/ray-token", "env": {"HF_HOME": "/shared/hf"}}'
)


def ray_complaints(config: dict[str, Any]) -> Iterator[str]:
    """Everything that is wrong with what a Ray cluster has beyond other kinds."""
    yield from _dashboard(config.get("dashboard", ""))
    waited = config.get("start_seconds", 0)
    if isinstance(waited, bool) or not isinstance(waited, int) or waited < 0:
        yield f"start_seconds must be a whole number from 0, not {waited!r}"
    resources = config.get("resources", {})
    if not isinstance(resources, dict) or not all(name and _is_amount(much) for name, much in resources.items()):
        yield f'resources must be an object of amounts such as {{"accelerator_type:A100": 0.001}}, not {resources!r}'
    yield from variable_complaints(config.get("env", {}))
    yield from path_complaints(config, PATHS)


def _dashboard(address: Any) -> Iterator[str]:
    what = "dashboard must be an address such as http://127.0.0.1:8265"
    try:
        parts = urlsplit(address if isinstance(address, str) and address.isprintable() else "")
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        yield f"{what}, not {address!r}"
        return
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port or " " in parts.netloc:
        yield f"{what}, not {address!r}"
    elif parts.username is not None or parts.query or parts.fragment:
        yield f"{what}, without a name, a password, ? or #; a token stands in the file that token_file names"
    elif parts.hostname not in (allowed := [host.strip("[]").lower() for host in settings.RAY_HOSTS]):
        yield (
            f"dashboard: {parts.hostname} is none of the hosts whose Ray this server may give jobs to, "
            f"{', '.join(allowed)}; whoever runs it adds hosts to ESWEB_RAY_HOSTS"
        )


def _is_amount(much: Any) -> bool:
    return isinstance(much, int | float) and not isinstance(much, bool) and math.isfinite(much) and much > 0
