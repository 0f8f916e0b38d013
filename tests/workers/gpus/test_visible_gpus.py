"""GPU metrics and identities as a training records them, read through a fake of the driver's library."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from tests.workers.gpus.fake_driver import NOT_SUPPORTED, FakeDriver, FakeGpu, use_driver
from workers.gpus import Card, Gpus, gpus
from workers.gpus.nvml import LIBRARY_VARIABLE, Nvml, open_nvml

FIRST = {"busy": 0.4, "memory_gb": 1500 * 2**20 / 1e9}
SECOND = {"busy": 0.5, "memory_gb": 2500 * 2**20 / 1e9, "watts": 250.0}


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """Open a driver with two GPUs; the first does not report its power. It reserves 500 MB of each."""
    two = FakeDriver(
        FakeGpu("GPU-a", "NVIDIA H100", 81_559, 1000, busy=40),
        FakeGpu("GPU-b", "NVIDIA H200", 143_771, 2000, busy=50, milliwatts=250_000),
        version="550.54.15",
        cuda=12040,
    )
    use_driver(monkeypatch, two)
    return open_nvml()


@each_case(
    ("visible", "seen"),
    [
        (None, [FIRST, SECOND]),
        ("1", [SECOND]),
        ("1,0", [SECOND, FIRST]),
        ("GPU-b", [SECOND]),
        ("", []),
        ("0,7,1", [FIRST]),
        ("-1", []),
    ],
)
def test_gpus_visible_to_cuda_are_measured_in_its_order(
    visible: str | None, seen: list[dict[str, float]], nvml: Nvml
) -> None:
    expected = {f"system/gpu{n}/{metric}": value for n, gpu in enumerate(seen) for metric, value in gpu.items()}
    assert Gpus(nvml, visible).read_usage() == expected


def test_gpus_are_named_in_order_of_cuda(nvml: Nvml) -> None:
    assert Gpus(nvml, "1,0").describe() == (
        Card("GPU-b", 0, "NVIDIA H200", 143_771, 2000),
        Card("GPU-a", 1, "NVIDIA H100", 81_559, 1000),
    )
    assert Gpus(nvml, "").describe() == ()
    assert Gpus(nvml, None).driver() == ("550.54.15", "12.4")


def test_driver_without_information_is_no_error(monkeypatch: pytest.MonkeyPatch, nvml: Nvml) -> None:
    for name in ("nvmlDeviceGetName", "nvmlSystemGetDriverVersion", "nvmlSystemGetCudaDriverVersion_v2"):
        monkeypatch.setattr(FakeDriver, name, lambda *_: NOT_SUPPORTED)
    assert Gpus(nvml, None).describe() == ()
    assert Gpus(nvml, None).driver() == ("", "")


def test_missing_driver_gives_no_gpus() -> None:
    assert gpus({LIBRARY_VARIABLE: "libnosuch.so.1"}) is None
    assert gpus({LIBRARY_VARIABLE: ""}) is None


def test_the_real_driver_answers() -> None:
    if (reader := gpus({})) is None:
        pytest.skip("this machine has no NVIDIA driver")
    values = reader.read_usage()
    assert 0 <= values["system/gpu0/busy"] <= 1
    (driver, cuda), (first, *_) = reader.driver(), reader.describe()
    assert driver and cuda and first.name and first.device.startswith("GPU-") and first.memory_mb > 1000
