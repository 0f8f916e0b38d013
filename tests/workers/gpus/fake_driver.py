"""A fake of the driver's library NVML: the GPUs of a test, one lost, one full, one divided, or no permission for any.

It stands where ctypes loads the library, and gets what ctypes would give that. `fake_nvml.c` is the same as a real
shared object, for the layout of NVML's structures and for other processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from workers.gpus import driver, nvml

SUCCESS, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, GPU_IS_LOST = 0, 3, 4, 6, 15
MB = 2**20
RESERVED_MB = 500


@dataclass
class FakeGpu:
    """A GPU. `used_mb` is what processes take; `processes` has those that are listed one by one, and their MB.

    `code` is the answer to every request for this GPU; `parts` are those into which it is divided.
    """

    uuid: str
    name: str = "NVIDIA H200"
    memory_mb: int = 143_771
    used_mb: int = 0
    processes: Mapping[int, int] = field(default_factory=dict)
    busy: int = 0
    milliwatts: int | None = None
    code: int = SUCCESS
    parts: Sequence[FakeGpu] | None = None


class FakeDriver:
    """The library of a driver with these GPUs. `code` is the answer to its start."""

    def __init__(self, *gpus: FakeGpu, version: str = "580.65.06", cuda: int = 13000, code: int = SUCCESS) -> None:
        self.gpus, self.version, self.cuda, self.code = [*gpus], version, cuda, code
        self.starts = 0
        self.known: list[FakeGpu] = []

    def nvmlInit_v2(self) -> int:
        self.starts += 1
        # A library shows the GPUs that were there when it was started.
        self.known = [*self.gpus]
        return self.code

    def nvmlShutdown(self) -> int:
        return SUCCESS

    def nvmlSystemGetDriverVersion(self, text: Any, length: Any) -> int:
        text.value = self.version.encode()
        return SUCCESS

    def nvmlSystemGetCudaDriverVersion_v2(self, number: Any) -> int:
        number._obj.value = self.cuda
        return SUCCESS

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = len(self.known)
        return SUCCESS

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        if index.value >= len(self.known):
            return NOT_FOUND
        gpu = self.known[index.value]
        handle._obj.value = id(gpu)
        return gpu.code if gpu in self.gpus else GPU_IS_LOST

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: Any) -> int:
        gpu = next((gpu for gpu in self.known if gpu.uuid == uuid.decode()), None)
        handle._obj.value = id(gpu)
        return NOT_FOUND if gpu is None else gpu.code

    def nvmlDeviceGetMigMode(self, handle: Any, now: Any, pending: Any) -> int:
        now._obj.value = self._of(handle).parts is not None
        return SUCCESS

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any, count: Any) -> int:
        count._obj.value = 7
        return SUCCESS

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: Any, part: Any) -> int:
        parts = self._of(handle).parts or ()
        if index.value >= len(parts):
            return NOT_FOUND
        part._obj.value = id(parts[index.value])
        return SUCCESS

    def nvmlDeviceGetName(self, handle: Any, text: Any, length: Any) -> int:
        text.value = self._of(handle).name.encode()
        return SUCCESS

    def nvmlDeviceGetUUID(self, handle: Any, text: Any, length: Any) -> int:
        text.value = self._of(handle).uuid.encode()
        return SUCCESS

    def nvmlDeviceGetMemoryInfo_v2(self, handle: Any, memory: Any) -> int:
        gpu = self._of(handle)
        memory._obj.total, memory._obj.used, memory._obj.reserved = (
            gpu.memory_mb * MB,
            gpu.used_mb * MB,
            RESERVED_MB * MB,
        )
        return SUCCESS

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Any, count: Any, processes: Any) -> int:
        listed = self._of(handle).processes
        for n, (pid, mb) in enumerate(listed.items()):
            processes[n].pid, processes[n].memory = pid, mb * MB
        count._obj.value = len(listed)
        return SUCCESS

    def nvmlDeviceGetUtilizationRates(self, handle: Any, use: Any) -> int:
        use._obj.gpu = self._of(handle).busy
        return SUCCESS

    def nvmlDeviceGetPowerUsage(self, handle: Any, milliwatts: Any) -> int:
        power = self._of(handle).milliwatts
        milliwatts._obj.value = power or 0
        return NOT_SUPPORTED if power is None else SUCCESS

    def _of(self, handle: Any) -> FakeGpu:
        every = [*self.known, *(part for gpu in self.known for part in gpu.parts or ())]
        return next(gpu for gpu in every if id(gpu) == handle.value)


def use_driver(monkeypatch: pytest.MonkeyPatch, fake: FakeDriver, *, read_seconds: float = 0.0) -> FakeDriver:
    """Let this process find the fake where it loads NVML, and read it each time."""
    monkeypatch.setenv(nvml.LIBRARY_VARIABLE, "fake")
    monkeypatch.setattr(nvml, "load_library", lambda name: fake)
    monkeypatch.setattr(driver, "READ_SECONDS", read_seconds)
    monkeypatch.setattr(driver, "_driver", driver.Driver())
    return fake
