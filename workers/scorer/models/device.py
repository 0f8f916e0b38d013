"""Choose the device and the precision of a score model."""

from __future__ import annotations

import torch

from workers.scorer.models.base import BadModel, ModelOptions

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def device_and_dtype(options: ModelOptions) -> tuple[torch.device, torch.dtype]:
    """Return auto as the GPU if there is one, in float16 as published scores are computed; else as the CPU, in float32.

    Raise BadModel if there is no such device.
    """
    has_gpu = torch.cuda.is_available()
    if options.device == "cuda" and not has_gpu:
        raise BadModel("device is cuda, but torch finds no GPU here; set auto or cpu")
    device = torch.device("cuda" if has_gpu and options.device != "cpu" else "cpu")
    name = options.dtype if options.dtype != "auto" else "float16" if device.type == "cuda" else "float32"
    return device, DTYPES[name]
