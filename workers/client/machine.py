"""The environment of a training: node, processor, memory, GPUs, Python and all installed packages."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import distributions
from pathlib import Path

from workers.gpus import gpus
from workers.records import Environment, Gpu

CPUINFO = Path("/proc/cpuinfo")
MB = 2**20


def environment(code: str = "") -> Environment:
    """Return the environment of this process. `code` is the fingerprint of its code. Unknown values are empty."""
    visible_gpus = gpus()
    driver, cuda = visible_gpus.driver() if visible_gpus else ("", "")
    cards = visible_gpus.describe() if visible_gpus else ()
    return Environment(
        node=platform.node(),
        os=_system(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        cpu=_processor(),
        cores=_cores(),
        memory_mb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MB,
        driver=driver,
        cuda=cuda,
        code=code,
        gpus=tuple(Gpu(card.name, card.memory_mb, card.device) for card in cards),
        packages=packages(),
    )


def packages() -> dict[str, str]:
    """Return distribution -> version, by name as indexes normalise it; of two of one name that which is imported."""
    versions: dict[str, str] = {}
    for distribution in distributions():
        # Read once: `distribution.version` would parse the file again.
        metadata = distribution.metadata
        # A folder that an interrupted installation left behind has no name.
        if name := metadata["Name"]:
            versions.setdefault(re.sub(r"[-_.]+", "-", name).lower(), metadata["Version"] or "")
    return dict(sorted(versions.items()))


def _system() -> str:
    kernel = f"{platform.system()} {platform.release()} {platform.machine()}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except OSError:
        return kernel


def _processor() -> str:
    if CPUINFO.exists():
        for line in CPUINFO.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0
