"""The folder in which this machine caches what can be made again: models, mostly."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path


def cache_folder() -> Path:
    """Return $ESWEB_CACHE, or ~/.cache/esweb."""
    return Path(os.environ.get("ESWEB_CACHE") or Path.home() / ".cache" / "esweb")


def share_compiled_code() -> None:
    """Let Python, Triton and torch's compiler put what they compile into the cache folder, for all runs of a machine.

    Python puts it beside the libraries, unless these came without bytecode, as images and uv leave them: then each
    start would compile thousands of modules, which takes 8 s. Call it before torch is imported.
    """
    libraries = find_spec("torch")
    if libraries is not None and libraries.cached and not Path(libraries.cached).exists():
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(cache_folder() / "bytecode"))
        # The variable that sets it is to leave source folders clean, as the prefix does.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.pycache_prefix, sys.dont_write_bytecode = os.environ["PYTHONPYCACHEPREFIX"], False
    for variable, folder in (("TRITON_CACHE_DIR", "triton"), ("TORCHINDUCTOR_CACHE_DIR", "inductor")):
        os.environ.setdefault(variable, str(cache_folder() / folder))
