"""The driver's library NVML, called by ctypes.

A function that an older library lacks answers as one that the GPU does not support. ESWEB_NVML_LIBRARY names the
library; where it is empty, there is none, so that tests see no GPU of the machine that they run on.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
LIBRARY_VARIABLE = "ESWEB_NVML_LIBRARY"
MB = 2**20
SUCCESS, NO_PERMISSION, FUNCTION_NOT_FOUND, GPU_IS_LOST = 0, 4, 13, 15
TEXT_BYTES = 96
MAX_PROCESSES = 1024
UNKNOWN_MEMORY = 2**64 - 1
PROCESS_LISTS = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3")
"""Processes with a CUDA context, and those of the Multi-Process Service."""
load_library = ctypes.CDLL


class Utilization(ctypes.Structure):
    """nvmlUtilization_t: percent of the last sample period."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Memory(ctypes.Structure):
    """nvmlMemory_t: bytes. `used` includes what the driver reserves."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class MemoryWithoutReserved(ctypes.Structure):
    """nvmlMemory_v2_t: bytes. `used` is that of processes alone."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("total", ctypes.c_ulonglong),
        ("reserved", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class ProcessInfo(ctypes.Structure):
    """nvmlProcessInfo_t: a process, its memory on the GPU in bytes, and the part of the GPU that it uses."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class NvmlError(Exception):
    """The driver refuses. The message gives its reason."""


class NoDriver(NvmlError):
    """This machine has no NVIDIA driver."""


@dataclass(frozen=True)
class Usage:
    """Memory of a GPU in bytes. `used` is that of processes; a driver older than 510 counts what it reserves there."""

    total: int = 0
    used: int = 0
    reserved: int = 0


class Nvml:
    """The open library. `close` lets the driver forget this process."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function. Return its code; FUNCTION_NOT_FOUND if the library lacks it."""
        function = getattr(self._library, name, None)
        return FUNCTION_NOT_FOUND if function is None else int(function(*arguments))

    def text(self, name: str, *about: Any) -> str:
        """Return the text that a function writes into a buffer; empty if it refuses."""
        buffer = ctypes.create_string_buffer(TEXT_BYTES)
        code = self.call(name, *about, buffer, ctypes.c_uint(TEXT_BYTES))
        return buffer.value.decode(errors="replace") if code == SUCCESS else ""

    def count(self) -> int:
        """Return how many GPUs the driver lists. Raise NvmlError."""
        number = ctypes.c_uint()
        if code := self.call("nvmlDeviceGetCount_v2", ctypes.byref(number)):
            raise NvmlError(describe_code(code))
        return number.value

    def device(self, index: int) -> ctypes.c_void_p:
        """Return the GPU of this index, as the driver counts them. Raise NvmlError, as if it has left the bus."""
        handle = ctypes.c_void_p()
        if code := self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle)):
            raise NvmlError(describe_code(code))
        return handle

    def device_of_uuid(self, uuid: str) -> ctypes.c_void_p:
        """Return the GPU of this UUID. Raise NvmlError."""
        handle = ctypes.c_void_p()
        if code := self.call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(handle)):
            raise NvmlError(describe_code(code))
        return handle

    def parts(self, handle: ctypes.c_void_p) -> list[ctypes.c_void_p] | None:
        """Return the devices into which a GPU is divided (MIG), which CUDA uses in its place; None if it is not."""
        now, pending, most = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
        if self.call("nvmlDeviceGetMigMode", handle, ctypes.byref(now), ctypes.byref(pending)) or not now.value:
            return None
        self.call("nvmlDeviceGetMaxMigDeviceCount", handle, ctypes.byref(most))
        parts = [ctypes.c_void_p() for _ in range(most.value)]
        name = "nvmlDeviceGetMigDeviceHandleByIndex"
        return [
            part for n, part in enumerate(parts) if not self.call(name, handle, ctypes.c_uint(n), ctypes.byref(part))
        ]

    def usage(self, handle: ctypes.c_void_p) -> Usage | None:
        """Return the memory of a GPU, or None if the driver does not give it."""
        newer = MemoryWithoutReserved()
        newer.version = ctypes.sizeof(MemoryWithoutReserved) | 2 << 24
        if self.call("nvmlDeviceGetMemoryInfo_v2", handle, ctypes.byref(newer)) == SUCCESS:
            return Usage(newer.total, newer.used, newer.reserved)
        older = Memory()
        if self.call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(older)) == SUCCESS:
            return Usage(older.total, older.used)
        return None

    def process_mb(self, handle: ctypes.c_void_p) -> dict[int, int]:
        """Return process id -> memory on a GPU in MB, of those processes that the driver reports one by one."""
        known: dict[int, int] = {}
        for name in PROCESS_LISTS:
            count = ctypes.c_uint(MAX_PROCESSES)
            processes = (ProcessInfo * MAX_PROCESSES)()
            if self.call(name, handle, ctypes.byref(count), processes) == SUCCESS:
                known |= {p.pid: p.memory // MB for p in processes[: count.value] if p.memory != UNKNOWN_MEMORY}
        return known

    def load(self, handle: ctypes.c_void_p) -> Iterator[tuple[str, float]]:
        """Yield the share of time in use (`busy`) and the power in W (`watts`), without those that are not given."""
        use, milliwatts = Utilization(), ctypes.c_uint()
        if self.call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(use)) == SUCCESS:
            yield "busy", use.gpu / 100
        if self.call("nvmlDeviceGetPowerUsage", handle, ctypes.byref(milliwatts)) == SUCCESS:
            yield "watts", milliwatts.value / 1000

    def versions(self) -> tuple[str, str]:
        """Return (version of the driver, newest CUDA that it supports); empty if it does not report them."""
        number = ctypes.c_int()
        can = self.call("nvmlSystemGetCudaDriverVersion_v2", ctypes.byref(number)) == SUCCESS
        # 12040 is CUDA 12.4.
        cuda = f"{number.value // 1000}.{number.value % 1000 // 10}" if can else ""
        return self.text("nvmlSystemGetDriverVersion"), cuda

    def close(self) -> None:
        """End the use of the library."""
        self.call("nvmlShutdown")


def open_nvml(environment: Mapping[str, str] = os.environ) -> Nvml:
    """Load the library and start it. Raise NoDriver where there is none, and NvmlError if the driver refuses."""
    name = environment.get(LIBRARY_VARIABLE, LIBRARY)
    if not name:
        raise NoDriver("this machine has no NVIDIA driver")
    try:
        nvml = Nvml(load_library(name))
    except OSError as error:
        raise NoDriver("this machine has no NVIDIA driver") from error
    if code := nvml.call("nvmlInit_v2"):
        raise NvmlError(describe_code(code))
    return nvml


CODES = {
    NO_PERMISSION: "this user may not use the NVIDIA driver; ls -l /dev/nvidia* shows who may",
    9: "the NVIDIA driver is not loaded; nvidia-smi says more, and a restart of the machine may help",
    FUNCTION_NOT_FOUND: "the NVIDIA driver is too old to list GPUs",
    GPU_IS_LOST: "it does not reply any more; dmesg says more, and a restart of the machine may help",
    17: "this process may not use the GPU's device files, as in a container that was started without them",
    18: "the NVIDIA driver was updated and its loaded part was not; restart the machine",
}
"""Maps a code of NVML (nvmlReturn_t) to its cause and what helps."""


def describe_code(code: int) -> str:
    """Return the cause of a code that NVML has answered."""
    return CODES.get(code, f"the NVIDIA driver answers with error {code} (nvmlReturn_t); nvidia-smi says more")
