"""`fake_nvml.c` as a real shared object, for tests that start programs or check the layout of NVML's structures."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from workers.gpus.nvml import LIBRARY_VARIABLE

SOURCE = Path(__file__).with_name("fake_nvml.c")
COMPILER = "cc"
NO_COMPILER = "no C compiler is installed, which builds the fake of NVML"


def has_compiler() -> bool:
    """Return whether the library can be built here."""
    return shutil.which(COMPILER) is not None


def build_library(folder: Path, gpus: Sequence[str]) -> dict[str, str]:
    """Compile the library, and return the variables under which a program sees these GPUs.

    A GPU is a line: UUID, MB of memory, MB in use, id of the process that uses it.
    """
    library, state = folder / "libfake-nvml.so", folder / "gpus.txt"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    state.write_text("".join(f"{gpu}\n" for gpu in gpus))
    return {LIBRARY_VARIABLE: str(library), "FAKE_NVML_GPUS": str(state)}
