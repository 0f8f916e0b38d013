"""Interpreters that have the standard library and the packages that a test names."""

from __future__ import annotations

import sys
from pathlib import Path


def make_interpreter(folder: Path, *packages: str) -> str:
    """Create an executable in the folder that runs Python with these empty packages. Return its path."""
    libraries = folder / "libraries"
    for package in packages:
        (libraries / package).mkdir(parents=True)
        (libraries / package / "__init__.py").touch()
    return make_program(folder / "python", f'PYTHONPATH={libraries} exec {sys.executable} -S "$@"')


def make_program(path: Path, script: str) -> str:
    """Write an executable shell script. Return its path."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)
