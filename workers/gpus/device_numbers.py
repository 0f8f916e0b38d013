"""Numbers in place of the UUIDs by which jobs of this machine know their GPUs, for libraries that read no UUIDs."""

from __future__ import annotations

import os
from collections.abc import Mapping

from workers.gpus.driver import read_cards
from workers.gpus.visible import VISIBLE


def number_devices(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return variables that name the GPUs of CUDA_VISIBLE_DEVICES by the driver's numbers, if UUIDs name them.

    vLLM takes each name for a number. A part of a GPU has none: its UUID stays.
    """
    names = [name.strip() for name in environment.get(VISIBLE, "").split(",") if name.strip()]
    if not any(name.startswith("GPU-") for name in names):
        return {}
    cards = read_cards()
    numbers = [next((str(card.index) for card in cards if card.is_called(name)), name) for name in names]
    # CUDA's own order puts the fastest GPU first; the driver's is that of the PCI bus.
    return {VISIBLE: ",".join(numbers), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
