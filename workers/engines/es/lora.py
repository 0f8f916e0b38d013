"""The tensors of a LoRA before any update: its targets, the start of A and B, the unit of their noise, its PEFT folder.

A variant that was published with adapters on a server (evo-llm) starts A and B at random and scales all noise by 10 %
of the mean |W| of the target. It updates θ ← θ + (η / N) Σ zᵢ Wᵢ with the members Wᵢ = θ + σ s εᵢ themselves. As
Σ zᵢ = 0, that is θ ← θ + (η σ / N) Σ zᵢ s εᵢ, the update of every run here, with α = η σ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from workers.config import ConfigError, LoraConfig, Problem, encode
from workers.engines.es.noise import normals

WEIGHTS_SHARE = 0.1
FIRST_SETTINGS = ("rank", "alpha", "targets")
"""Settings that every replay log names."""
LAYER = re.compile(r"\.layers\.(\d+)\.")


def lora_origin(lora: LoraConfig | None) -> dict[str, Any] | None:
    """Return the settings that decide the weights, in the form in which they come back from JSON.

    Settings that were added later are left out while they have their defaults, so that old logs and checkpoints
    continue.
    """
    if lora is None:
        return None
    values, defaults = encode(lora), encode(LoraConfig())
    settings = {key: value for key, value in values.items() if key in FIRST_SETTINGS or value != defaults[key]}
    return settings | {"targets": list(lora.targets)}


def tensor_names(target: str) -> tuple[str, str]:
    """Return PEFT's names of A and B."""
    return tuple(f"base_model.model.{target}.lora_{letter}.weight" for letter in "AB")  # type: ignore[return-value]


def find_targets(model: nn.Module, lora: LoraConfig) -> list[str]:
    """Return the names of the linear layers that get an adapter. Raise ConfigError if a setting selects none."""
    linear = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    targets = [name for name in linear if name.rpartition(".")[2] in lora.targets]
    if missing := set(lora.targets) - {name.rpartition(".")[2] for name in targets}:
        choices = ", ".join(sorted({name.rpartition(".")[2] for name in linear}))
        reason = f"the model has no linear layer {', '.join(sorted(missing))}; it has {choices}"
        raise ConfigError([Problem("es.lora.targets", reason)])
    layers = lora.layer_numbers()
    return _in_layers(targets, set(layers)) if layers else targets


def _in_layers(targets: list[str], layers: set[int]) -> list[str]:
    numbers = {name: int(match[1]) for name in targets if (match := LAYER.search(name))}
    if missing := layers - set(numbers.values()):
        last = max(numbers.values(), default=-1)
        reason = f"names layer {min(missing)}, in which no target is; the model has layers 0 to {last}"
        raise ConfigError([Problem("es.lora.layers", reason)])
    return [name for name, number in numbers.items() if number in layers]


def noise_unit(lora: LoraConfig, weight: Tensor) -> float:
    """Return the unit s of the noise of a target's A and B: 1, or 10 % of the mean |W|.

    It is rounded to float32: the mean of a large tensor differs in its last bits between devices and numbers of
    threads.
    """
    if lora.noise_scale == "one":
        return 1.0
    return float(np.float32(WEIGHTS_SHARE * float(weight.double().abs().mean()))) or 1.0


def first_tensors(lora: LoraConfig, run_seed: int, target: str, weight: Tensor, unit: float) -> dict[str, Tensor]:
    """Return A [rank, in] and B [out, rank] before any update, float32, by their names."""
    (high, wide), (a, b) = weight.shape, tensor_names(target)
    if lora.start == "zero_b":
        zeros = torch.zeros(high, lora.rank, device=weight.device)
        return {a: _scaled_normals(run_seed, a, (lora.rank, wide), weight, wide**-0.5), b: zeros}
    scale = lora.start_scale * unit
    shapes = {a: (lora.rank, wide), b: (high, lora.rank)}
    return {name: _scaled_normals(run_seed, name, shape, weight, scale) for name, shape in shapes.items()}


def _scaled_normals(run_seed: int, name: str, shape: tuple[int, int], like: Tensor, scale: float) -> Tensor:
    return normals([run_seed + 1], f"{name}#start", shape[0] * shape[1], like.device).view(shape).mul_(scale)


def save_peft(folder: Path, tensors: Mapping[str, Tensor], lora: LoraConfig, base_path: str) -> None:
    """Write A and B of all targets into a new folder, as PEFT reads them. Raise OSError."""
    folder.mkdir()
    save_file(dict(tensors), folder / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base_path,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "target_modules": list(lora.targets),
    }
    if layers := lora.layer_numbers():
        config["layers_to_transform"] = list(layers)
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
