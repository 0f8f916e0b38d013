"""The GPUs that a training sees: their identity and their usage, by the names in CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping

from workers.gpus.card import Card
from workers.gpus.nvml import MB, Nvml, NvmlError, open_nvml

GB = 1e9
VISIBLE = "CUDA_VISIBLE_DEVICES"


class Gpus:
    """The GPUs that CUDA_VISIBLE_DEVICES names, in its order; all of the machine's where it is not set."""

    def __init__(self, nvml: Nvml, visible: str | None) -> None:
        self._nvml = nvml
        self._handles = list(_handles(nvml, visible))

    def read_usage(self) -> dict[str, float]:
        """Return each GPU's share of time in use, memory in GB and power in W; values that the driver does not give are
        left out."""
        values: dict[str, float] = {}
        for n, handle in enumerate(self._handles):
            values |= {f"system/gpu{n}/{metric}": value for metric, value in self._read_usage(handle)}
        return values

    def describe(self) -> tuple[Card, ...]:
        """Return each GPU with its UUID as device, without those that do not give their name."""
        cards = (make_card(self._nvml, handle, n) for n, handle in enumerate(self._handles))
        return tuple(card for card in cards if card.name)

    def driver(self) -> tuple[str, str]:
        """Return (version of the driver, newest CUDA that it supports); empty if it does not report them."""
        return self._nvml.versions()

    def _read_usage(self, handle: ctypes.c_void_p) -> Iterator[tuple[str, float]]:
        yield from self._nvml.load(handle)
        if (usage := self._nvml.usage(handle)) is not None:
            yield "memory_gb", (usage.used + usage.reserved) / GB


def gpus(environment: Mapping[str, str] = os.environ) -> Gpus | None:
    """Return the GPUs that this process sees, or None if it has no NVIDIA driver that replies."""
    try:
        return Gpus(open_nvml(environment), environment.get(VISIBLE))
    except NvmlError:
        return None


def make_card(nvml: Nvml, handle: ctypes.c_void_p, index: int) -> Card:
    """Return a GPU as the driver describes it now; unknown values are empty."""
    usage = nvml.usage(handle)
    return Card(
        nvml.text("nvmlDeviceGetUUID", handle),
        index,
        nvml.text("nvmlDeviceGetName", handle),
        usage.total // MB if usage else 0,
        usage.used // MB if usage else 0,
        nvml.process_mb(handle),
    )


def _handles(nvml: Nvml, visible: str | None) -> Iterator[ctypes.c_void_p]:
    """Yield the GPUs. CUDA too uses no GPU from the first unknown name on."""
    try:
        names = map(str, range(nvml.count())) if visible is None else filter(None, visible.split(","))
        for name in names:
            yield nvml.device(int(name)) if name.isdigit() else nvml.device_of_uuid(name)
    except NvmlError:
        return
