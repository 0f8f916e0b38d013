"""The folder in which this machine caches what can be made again: models, mostly."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return $ESWEB_CACHE, or ~/.cache/esweb."""
    return Path(os.environ.get("ESWEB_CACHE") or Path.home() / ".cache" / "esweb")
