"""The structures that ctypes passes to NVML have the layout that a C compiler gives those of nvml.h."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.gpus.fake_library import NO_COMPILER, build_library, has_compiler
from workers.gpus import Card, driver


@pytest.mark.skipif(not has_compiler(), reason=NO_COMPILER)
def test_shared_library_fills_the_structures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = ["GPU-aa 143771 0 0", "GPU-bb 81559 70000 4711"]
    for name, value in build_library(tmp_path, gpus).items():
        monkeypatch.setenv(name, value)
    assert driver.Driver().read() == driver.DriverReport(
        (
            Card("GPU-aa", 0, "NVIDIA H200", 143_771),
            Card("GPU-bb", 1, "NVIDIA H200", 81_559, 70_000, {4711: 70_000}),
        ),
        (),
        "580.65.06",
        "13.0",
    )
