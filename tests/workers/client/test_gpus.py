"""GPU metrics, read through a fake of the driver's library that speaks NVML with two GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from workers.client.gpus import Gpus, gpus
from workers.records import Gpu

UUIDS = {b"GPU-a": 0, b"GPU-b": 1}
UNKNOWN = 6
TOO_SMALL = 7


class Driver:
    """Two GPUs: busy by 40 and 50 %, with 1 and 2 GB in use; the first does not report its power."""

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        handle._obj.value = index.value + 1
        return 0 if index.value < 2 else UNKNOWN

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: Any) -> int:
        handle._obj.value = UUIDS.get(uuid, 0) + 1
        return 0 if uuid in UUIDS else UNKNOWN

    def nvmlDeviceGetUtilizationRates(self, handle: Any, use: Any) -> int:
        use._obj.gpu = 30 + 10 * handle.value
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:
        memory._obj.used, memory._obj.total = handle.value * 10**9, handle.value * 80 * 2**30
        return 0

    def nvmlDeviceGetName(self, handle: Any, text: Any, length: Any) -> int:
        text.value = b"NVIDIA H100"
        return 0 if length.value >= 96 else TOO_SMALL

    def nvmlDeviceGetUUID(self, handle: Any, text: Any, length: Any) -> int:
        text.value = next(uuid for uuid, n in UUIDS.items() if n == handle.value - 1)
        return 0

    def nvmlSystemGetDriverVersion(self, text: Any, length: Any) -> int:
        text.value = b"550.54.15"
        return 0

    def nvmlSystemGetCudaDriverVersion_v2(self, number: Any) -> int:
        number._obj.value = 12040
        return 0

    def nvmlDeviceGetPowerUsage(self, handle: Any, milliwatts: Any) -> int:
        milliwatts._obj.value = 250_000
        return 0 if handle.value == 2 else UNKNOWN


FIRST = {"busy": 0.4, "memory_gb": 1.0}
SECOND = {"busy": 0.5, "memory_gb": 2.0, "watts": 250.0}


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
def test_gpus_visible_to_cuda_are_measured_in_its_order(visible: str | None, seen: list[dict[str, float]]) -> None:
    expected = {f"system/gpu{n}/{metric}": value for n, gpu in enumerate(seen) for metric, value in gpu.items()}
    assert Gpus(Driver(), visible).read_usage() == expected


def test_gpus_are_named_in_order_of_cuda() -> None:
    first, second = Gpu("NVIDIA H100", 80 * 1024, "GPU-a"), Gpu("NVIDIA H100", 160 * 1024, "GPU-b")
    assert Gpus(Driver(), "1,0").describe() == (second, first)
    assert Gpus(Driver(), "").describe() == ()
    assert Gpus(Driver(), None).driver() == ("550.54.15", "12.4")


def test_driver_without_information_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvmlDeviceGetName", "nvmlSystemGetDriverVersion", "nvmlSystemGetCudaDriverVersion_v2"):
        monkeypatch.setattr(Driver, name, lambda *_: UNKNOWN)
    assert Gpus(Driver(), None).describe() == ()
    assert Gpus(Driver(), None).driver() == ("", "")


def test_missing_driver_gives_no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.client.gpus.LIBRARY", "libnosuch.so.1")
    assert gpus({}) is None


def test_the_real_driver_answers() -> None:
    if (reader := gpus({})) is None:
        pytest.skip("this machine has no NVIDIA driver")
    values = reader.read_usage()
    assert 0 <= values["system/gpu0/busy"] <= 1
    assert values["system/gpu0/memory_gb"] > 0
    (driver, cuda), (first, *_) = reader.driver(), reader.describe()
    assert driver and cuda and first.name and first.uuid.startswith("GPU-") and first.memory_mb > 1000
