"""Loads a base model and its tokenizer, ready to answer: evaluation mode, no gradients, padding on the left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoTokenizer

from workers.config import ConfigError, ModelConfig, Problem
from workers.models.folder import check, unusable_error
from workers.models.gpus import count_gpus
from workers.models.native import load_native
from workers.models.resolve import resolve

if TYPE_CHECKING:
    from workers.models.tiny.build import Progress


@dataclass(frozen=True)
class Loaded:
    """A model with its tokenizer. `path` is the folder it came from, `dtype` the precision of its weights.

    `gpus` is the number of GPUs that the job holds, whether it uses them or not; 0 on a CPU.
    """

    model: Any
    tokenizer: Any
    path: Path
    device: torch.device
    dtype: torch.dtype
    gpus: int = 0


def load(
    config: ModelConfig, progress: Progress | None = None, *, needs_transformers: bool = False, on_host: bool = False
) -> Loaded:
    """Load a model as a `NativeModel`, or as a class of transformers for other architectures.

    `needs_transformers` requires a class of transformers: TRL needs one, and loads the model again from its
    `_name_or_path`. `on_host` leaves the weights in the machine's memory, in the precision that is theirs on the
    device. Weights are read from safetensors only: the other formats are pickles, which run code. Raise
    ConfigError, also as ModelMissing, for a folder, a model or a device that cannot be used here.
    """
    device = _device(config.device)
    gpus = count_gpus(torch.cuda.device_count()) if device.type == "cuda" else 0
    path = resolve(config.path, progress)
    check(path)
    dtype = _dtype(config.dtype, device)
    try:
        model = None if needs_transformers else load_native(path, dtype)
        if model is None:
            model = _load_with_transformers(path, dtype)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise unusable_error(path, f"transformers does not know this model: {reason}") from error
    model.to("cpu" if on_host else device).eval().requires_grad_(False)
    return Loaded(model, _tokenizer(path), path, device, dtype, gpus)


def _load_with_transformers(path: Path, dtype: torch.dtype) -> Any:
    # Imported here, because it takes 3 s of a core and most ES runs do without.
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(path, dtype=dtype, use_safetensors=True)


def _tokenizer(path: Path) -> Any:
    """Padding on the left, so that the last token of every row of a batch is the one to continue."""
    tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _device(name: str) -> torch.device:
    """Return the device of that name. Raise ConfigError if there is no such device."""
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise ConfigError([Problem("model.device", "is cuda, but torch finds no GPU here; set auto or cpu")])
    if name == "auto":
        name = "cuda" if has_gpu else "cpu"
    return torch.device(name)


def _dtype(name: str, device: torch.device) -> torch.dtype:
    """Return the precision; auto is float32 on a CPU, where bfloat16 has no fast matrix product, and bfloat16 on a
    GPU."""
    if name == "auto":
        name = "float32" if device.type == "cpu" else "bfloat16"
    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[name]
