"""GPUs that UUIDs name get their numbers, for libraries that read no UUIDs."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from tests.workers.gpus.fake_driver import FakeDriver, FakeGpu, use_driver
from workers.gpus.device_numbers import number_devices


@each_case(
    "visible, numbers",
    [
        ("GPU-b", "1"),
        ("GPU-b,GPU-a", "1,0"),
        ("GPU-b, GPU-gone", "1,GPU-gone"),
        ("0,1", None),
        ("MIG-a", None),
        ("", None),
    ],
)
def test_uuids_get_numbers(monkeypatch: pytest.MonkeyPatch, visible: str, numbers: str | None) -> None:
    use_driver(monkeypatch, FakeDriver(FakeGpu("GPU-a"), FakeGpu("GPU-b")))
    expected = {} if numbers is None else {"CUDA_VISIBLE_DEVICES": numbers, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert number_devices({"CUDA_VISIBLE_DEVICES": visible}) == expected


def test_process_that_sees_all_gpus_has_no_names() -> None:
    assert number_devices({}) == {}
