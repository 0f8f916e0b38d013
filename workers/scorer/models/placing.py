"""Where a score model runs, and in which precision."""

from __future__ import annotations

import torch

from workers.scorer.models.base import BadModel, Wanted

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def placed(wanted: Wanted) -> tuple[torch.device, torch.dtype]:
    """auto: the GPU where there is one, in float16 as published scores are computed; else the CPU, in float32.

    Raises BadModel where there is no such device.
    """
    found = torch.cuda.is_available()
    if wanted.device == "cuda" and not found:
        raise BadModel("device is cuda, and torch finds no GPU here; give auto or cpu")
    device = torch.device("cuda" if found and wanted.device != "cpu" else "cpu")
    name = wanted.dtype if wanted.dtype != "auto" else "float16" if device.type == "cuda" else "float32"
    return device, DTYPES[name]
