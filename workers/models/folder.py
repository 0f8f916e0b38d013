"""Checks if a folder can be a model at all, with a readable sentence before a library fails on it."""

from __future__ import annotations

import json
from pathlib import Path

from workers.config import ConfigError, Problem

HOLDS = "a checkpoint folder contains config.json, *.safetensors and a tokenizer, as save_pretrained writes them"


def check(folder: Path) -> None:
    """Raise ConfigError if a part is missing or torn."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise unusable_error(folder, "it has no config.json") from None
    except (OSError, ValueError) as error:
        raise unusable_error(folder, f"its config.json cannot be read: {error}") from error
    if not isinstance(config, dict) or "model_type" not in config:
        raise unusable_error(folder, "its config.json has no model_type")
    if (folder / "adapter_config.json").exists():
        # transformers would load the base that the adapter names, which may be any folder of this machine.
        raise unusable_error(folder, "it contains an adapter (adapter_config.json); merge it into its base model first")
    if not any(folder.glob("*.safetensors")):
        raise unusable_error(folder, "it has no *.safetensors; other formats of weights are pickles, which run code")
    if not any((folder / name).exists() for name in ("tokenizer.json", "tokenizer_config.json", "tokenizer.model")):
        raise unusable_error(folder, "it has no tokenizer")


def unusable_error(folder: Path, reason: str) -> ConfigError:
    """Return the error that names the folder, the problem and the remedy."""
    return ConfigError([Problem("model.path", f"{folder} cannot be used: {reason}; {HOLDS}")])
