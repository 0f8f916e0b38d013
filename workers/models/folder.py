"""Checks if a folder can be a model at all, with a readable sentence before a library fails on it."""

from __future__ import annotations

import json
from pathlib import Path

from workers.config import ConfigError, Problem
from workers.preflight.model_files import find_problem

HOLDS = "a checkpoint folder contains config.json, *.safetensors and a tokenizer, as save_pretrained writes them"


def check(folder: Path) -> None:
    """Raise ConfigError if a part is missing or torn."""
    if (folder / "config.json").is_file():
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise unusable_error(folder, f"its config.json cannot be read: {error}") from error
        if not isinstance(config, dict) or "model_type" not in config:
            raise unusable_error(folder, "its config.json has no model_type")
    if problem := find_problem(folder):
        raise unusable_error(folder, problem)


def unusable_error(folder: Path, reason: str) -> ConfigError:
    """Return the error that names the folder, the problem and the remedy."""
    return ConfigError([Problem("model.path", f"{folder} cannot be used: {reason}; {HOLDS}")])
