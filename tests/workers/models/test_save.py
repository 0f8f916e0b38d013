"""A saved model is complete or absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from workers.models import Loaded, save
from workers.models.save import weights_sha256


class FullDisk:
    """A tokenizer whose files exceed the disk space."""

    def save_pretrained(self, directory: Path) -> None:
        (directory / "tokenizer.json").write_text("{")
        raise OSError(28, "No space left on device")


def test_saved_model_round_trips(micro: Loaded, tmp_path: Path) -> None:
    size, sha256 = save(micro.model, micro.tokenizer, tmp_path / "a" / "b")
    back: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "a" / "b")
    for name, weight in micro.model.state_dict().items():
        assert torch.equal(back.state_dict()[name], weight)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "a" / "b")
    assert tokenizer("It is 8.")["input_ids"] == micro.tokenizer("It is 8.")["input_ids"]
    assert sha256 == weights_sha256(tmp_path / "a" / "b") == weights_sha256(micro.path)
    assert size == sum(f.stat().st_size for f in (tmp_path / "a" / "b").iterdir()) > 4 * 30_000


def test_full_disk_leaves_old_model_unchanged(micro: Loaded, tmp_path: Path) -> None:
    save(micro.model, micro.tokenizer, tmp_path / "model", {"note.txt": "old"})
    for name in ("model", "new"):
        with pytest.raises(OSError, match="No space left"):
            save(micro.model, FullDisk(), tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model" / "note.txt").read_text() == "old"


def test_an_older_folder_is_replaced_whole(micro: Loaded, tmp_path: Path) -> None:
    save(micro.model, micro.tokenizer, tmp_path / "model", {"old.txt": "old"})
    save(micro.model, micro.tokenizer, tmp_path / "model", {"new.txt": "new"})
    assert not (tmp_path / "model" / "old.txt").exists()
    assert (tmp_path / "model" / "new.txt").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_checkpoint_has_usual_file_permissions(micro: Loaded, tmp_path: Path) -> None:
    save(micro.model, micro.tokenizer, tmp_path / "model", {"note.txt": "made like any other file"})
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert len({file.stat().st_mode for file in (tmp_path / "model").iterdir()}) == 1
