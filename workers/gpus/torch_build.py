"""The torch that is installed beside this Python, read from its files: importing it would take seconds and memory."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

VERSION_FILE = "version.py"
ASSIGNMENT = re.compile(r"^(?P<name>__version__|cuda|hip)\b[^=\n]*=\s*['\"](?P<value>[^'\"\n]+)['\"]", re.MULTILINE)


@dataclass(frozen=True)
class TorchBuild:
    """Version of torch, and of the CUDA that it was built for; `cuda` is empty in a build for CPUs."""

    version: str
    cuda: str = ""


def installed_torch() -> TorchBuild | None:
    """Return the torch that `import torch` would load, or None if there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return None
    try:
        text = Path(spec.origin).with_name(VERSION_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        # An installer is replacing it now.
        return None
    return parse_version_file(text)


def parse_version_file(text: str) -> TorchBuild:
    """Return the build that torch/version.py describes. A build for ROCm counts as one without CUDA."""
    values = {match["name"]: match["value"] for match in ASSIGNMENT.finditer(text)}
    return TorchBuild(values.get("__version__", ""), values.get("cuda", ""))
