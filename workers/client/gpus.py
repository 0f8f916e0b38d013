"""What the NVIDIA GPUs of a training do: asked of the driver's library NVML, by ctypes. Nothing where there is none."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
GB = 1e9
SUCCESS = 0


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

    def look(self) -> dict[str, float]:
        """Share of time in use, memory in GB and power in W of each GPU; what the driver does not say is left out."""
        values: dict[str, float] = {}
        for n, handle in enumerate(self._handles):
            values |= {f"system/gpu{n}/{what}": value for what, value in self._of(handle)}
        return values

    def _of(self, handle: ctypes.c_void_p) -> Iterator[tuple[str, float]]:
        use, memory, milliwatts = Utilization(), Memory(), ctypes.c_uint()
        if self._library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(use)) == SUCCESS:
            yield "busy", use.gpu / 100
        if self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == SUCCESS:
            yield "memory_gb", memory.used / GB
        if self._library.nvmlDeviceGetPowerUsage(handle, ctypes.byref(milliwatts)) == SUCCESS:
            yield "watts", milliwatts.value / 1000


def gpus(environment: Mapping[str, str] = os.environ) -> Gpus | None:
    """This machine's, or None where it has no NVIDIA driver."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    return Gpus(library, environment.get("CUDA_VISIBLE_DEVICES")) if library.nvmlInit_v2() == SUCCESS else None


def _handles(library: Any, visible: str | None) -> Iterator[ctypes.c_void_p]:
    count = ctypes.c_uint()
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    named = [str(i) for i in range(count.value)] if visible is None else [n for n in visible.split(",") if n]
    for name in named:
        handle = ctypes.c_void_p()
        if name.isdigit():
            answer = library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(name)), ctypes.byref(handle))
        else:
            answer = library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle))
        # CUDA too uses none from the first name on that it does not know.
        if answer != SUCCESS:
            return
        yield handle
