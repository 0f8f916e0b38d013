"""Identity and usage of NVIDIA GPUs, read from the driver's library NVML by ctypes; nothing without it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
GB = 1e9
MB = 2**20
SUCCESS = 0
TEXT_BYTES = 96


class Utilization(ctypes.Structure):
    """nvmlUtilization_t: percent of the last sample period."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Memory(ctypes.Structure):
    """nvmlMemory_t: bytes."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Gpus:
    """The GPUs that CUDA_VISIBLE_DEVICES names, in its order; all of the machine's where it is not set."""

    def __init__(self, library: Any, visible: str | None) -> None:
        self._library = library
        self._handles = list(_handles(library, visible))

    def read_usage(self) -> dict[str, float]:
        """Return each GPU's share of time in use, memory in GB and power in W; values that the driver does not give are
        left out."""
        values: dict[str, float] = {}
        for n, handle in enumerate(self._handles):
            values.update((f"system/gpu{n}/{metric}", value) for metric, value in self._read_usage(handle))
        return values

    def describe(self) -> list[dict[str, Any]]:
        """Return name, memory and identity of each GPU, without those that do not give their name."""
        names = ((_text(self._library.nvmlDeviceGetName, handle), handle) for handle in self._handles)
        return [
            {
                "name": name,
                "memory_mb": self._memory(handle).total // MB,
                "uuid": _text(self._library.nvmlDeviceGetUUID, handle),
            }
            for name, handle in names
            if name
        ]

    def driver(self) -> tuple[str, str]:
        """Return (version of the driver, newest CUDA that it supports); empty if it does not report them."""
        number = ctypes.c_int()
        can = self._library.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)) == SUCCESS
        # 12040 is CUDA 12.4.
        cuda = f"{number.value // 1000}.{number.value % 1000 // 10}" if can else ""
        return _text(self._library.nvmlSystemGetDriverVersion), cuda

    def _memory(self, handle: ctypes.c_void_p) -> Memory:
        memory = Memory()
        status = self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
        return memory if status == SUCCESS else Memory()

    def _read_usage(self, handle: ctypes.c_void_p) -> Iterator[tuple[str, float]]:
        use, memory, milliwatts = Utilization(), Memory(), ctypes.c_uint()
        if self._library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(use)) == SUCCESS:
            yield "busy", use.gpu / 100
        if self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == SUCCESS:
            yield "memory_gb", memory.used / GB
        if self._library.nvmlDeviceGetPowerUsage(handle, ctypes.byref(milliwatts)) == SUCCESS:
            yield "watts", milliwatts.value / 1000


def find_gpus(environment: Mapping[str, str] = os.environ) -> Gpus | None:
    """Return this machine's GPUs, or None if it has no NVIDIA driver."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    return Gpus(library, environment.get("CUDA_VISIBLE_DEVICES")) if library.nvmlInit_v2() == SUCCESS else None


def _text(read: Any, *about: ctypes.c_void_p) -> str:
    """Return the text that the library writes into a buffer; empty if it refuses."""
    buffer = ctypes.create_string_buffer(TEXT_BYTES)
    status = read(*about, buffer, ctypes.c_uint(TEXT_BYTES))
    return buffer.value.decode(errors="replace") if status == SUCCESS else ""


def _handles(library: Any, visible: str | None) -> Iterator[ctypes.c_void_p]:
    count = ctypes.c_uint()
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    named = [str(i) for i in range(count.value)] if visible is None else [n for n in visible.split(",") if n]
    for name in named:
        handle = ctypes.c_void_p()
        if name.isdigit():
            status = library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(name)), ctypes.byref(handle))
        else:
            status = library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle))
        # CUDA too uses no GPU from the first unknown name on.
        if status != SUCCESS:
            return
        yield handle
