"""The model that the demonstration trains, made beforehand: whoever waits sees how far it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings


class ModelFailed(Exception):
    """The model could not be made; what its maker said stands above."""


def make(name: str) -> None:
    """Makes the model into the cache that runs use, unless it is there, saying how far it is. Raises ModelFailed."""
    out = Path(settings.DATA_DIR) / "models" / name
    argv = [sys.executable, "-m", "workers.models.tiny", "--name", name, "--out", str(out)]
    made = subprocess.run(argv, cwd=settings.BASE_DIR, env=_environment(), stdout=subprocess.DEVNULL, check=False)
    if made.returncode != 0:
        raise ModelFailed(f"The {name} model could not be made (exit code {made.returncode}).")


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "ESWEB_CACHE": str(Path(settings.CACHE_DIR)),
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_NUM_THREADS": str(settings.LOCAL_SLOTS),
    }
