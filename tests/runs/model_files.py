"""Folders of models that hold a config.json and no weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

QWEN2_7B = {
    "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False,
}  # fmt: skip


def write_model_config(folder: Path, config: Any) -> Path:
    """Write the config.json of a model, an object or the text itself; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return folder / "config.json"
