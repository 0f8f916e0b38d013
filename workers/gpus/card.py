"""One GPU, or a part of one that the driver shows as a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Card:
    """A GPU that runs may use.

    `device` is its name in CUDA_VISIBLE_DEVICES: its UUID, which stays when another GPU disappears, or what the config
    of a cluster calls it. `index` is its number for people. Memory is in MB of 2²⁰ bytes; `memory_mb` is 0 if the
    driver does not report it, as for a device that only the config names. `used_mb` counts all processes;
    `process_mb` maps the process id to the memory of those that the driver reports one by one.
    """

    device: str
    index: int = 0
    name: str = ""
    memory_mb: int = 0
    used_mb: int = 0
    process_mb: Mapping[int, int] = field(default_factory=dict)

    def is_called(self, name: str) -> bool:
        """Return whether this is the GPU of a name as CUDA_VISIBLE_DEVICES may have it: index, or beginning of a
        UUID."""
        is_beginning = name.startswith(("GPU-", "MIG-")) and self.device.startswith(name)
        return name == self.device or name == str(self.index) or is_beginning
