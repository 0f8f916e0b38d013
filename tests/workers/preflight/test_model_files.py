"""The shapes of a model come from the heads of its weights; damaged files are refused with a reason."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from tests.runs.model_files import QWEN2_7B, write_model_config
from workers.models.decoder.shape import MODEL_TYPES
from workers.preflight import find_cached_model, read_model_files
from workers.preflight.model_files import (
    MAX_HEAD_BYTES,
    NATIVE_MODEL_TYPES,
    ModelUnreadable,
    has_chat_template,
    read_shapes,
)


def write_head(file: Path, head: Any) -> None:
    """Write a file of weights that holds nothing but its head."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text)


def test_shapes_of_all_files_are_read(tmp_path: Path) -> None:
    write_model_config(tmp_path, QWEN2_7B)
    for number in (1, 2):
        tensor = {"dtype": "BF16", "shape": [number, 3], "data_offsets": [0, 1]}
        write_head(tmp_path / f"model-0000{number}.safetensors", {"__metadata__": {}, f"tensor.{number}": tensor})
    model = read_model_files(tmp_path)

    assert model is not None and model.has_weights and model.architecture == "qwen2"
    assert (model.shapes, model.parameters) == ({"tensor.1": (1, 3), "tensor.2": (2, 3)}, 9)
    assert model.other_bytes == (tmp_path / "config.json").stat().st_size


def test_tied_matrix_is_counted_once(tmp_path: Path) -> None:
    write_model_config(tmp_path, QWEN2_7B | {"tie_word_embeddings": True})
    tensor = {"dtype": "BF16", "shape": [4, 3], "data_offsets": [0, 1]}
    write_head(tmp_path / "model.safetensors", {"model.embed_tokens.weight": tensor, "lm_head.weight": tensor})
    model = read_model_files(tmp_path)

    assert model is not None and set(model.shapes) == {"model.embed_tokens.weight"}


def test_parameters_without_weights_follow_from_the_sizes(tmp_path: Path) -> None:
    write_model_config(tmp_path, QWEN2_7B)
    model = read_model_files(tmp_path)

    # Qwen2.5-7B has 7 615 616 512 parameters.
    assert model is not None and not model.has_weights and model.parameters == pytest.approx(7_615_616_512, rel=1e-4)


def test_folder_without_config_is_no_model(tmp_path: Path) -> None:
    assert read_model_files(tmp_path) is None


@each_case(
    ("content", "reason"),
    [
        (b"", "is not a safetensors file"),
        (struct.pack("<Q", MAX_HEAD_BYTES + 1), "lists too many tensors"),
        (struct.pack("<Q", 4) + b"[[]]", "does not list its tensors"),
        (struct.pack("<Q", 9) + b'{"a": {}}', "does not list its tensors"),
        (struct.pack("<Q", 22) + b'{"a": {"shape": [-1]}}', "does not list its tensors"),
        (struct.pack("<Q", 40) + b'{"a": {"shape": [10000000000000000000]}}', "does not list its tensors"),
        (struct.pack("<Q", 2) + b"\xff\xfe", "does not list its tensors"),
    ],
    ids=["empty", "long", "list", "no-shape", "negative", "huge", "bytes"],
)
def test_damaged_weights_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)

    with pytest.raises(ModelUnreadable, match=reason):
        read_shapes(tmp_path / "model.safetensors")


def test_hub_model_is_looked_up_in_the_cache(tmp_path: Path) -> None:
    root, commit = tmp_path / "hub" / "models--Qwen--Qwen2.5-7B", "a" * 40
    write_model_config(root / "snapshots" / commit, QWEN2_7B)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(commit)
    cache = {"HF_HOME": str(tmp_path)}

    assert find_cached_model("Qwen/Qwen2.5-7B", environment=cache) == root / "snapshots" / commit
    assert find_cached_model("Qwen/Qwen2.5-32B", environment=cache) is None
    assert find_cached_model("../Qwen2.5-7B", environment=cache) is None
    (root / "refs" / "main").write_text("../../../etc")
    assert find_cached_model("Qwen/Qwen2.5-7B", environment=cache) is None


def test_chat_template_is_a_file_or_a_setting(tmp_path: Path) -> None:
    settings = tmp_path / "tokenizer_config.json"
    assert not has_chat_template(tmp_path)
    settings.write_text("{")
    assert not has_chat_template(tmp_path)
    settings.write_text('{"chat_template": "{{ messages }}"}')
    assert has_chat_template(tmp_path)
    settings.unlink()
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    assert has_chat_template(tmp_path)


def test_native_model_types_are_those_of_the_decoder() -> None:
    assert NATIVE_MODEL_TYPES == MODEL_TYPES
