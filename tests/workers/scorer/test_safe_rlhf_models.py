"""Safe-RLHF's score models: a checkpoint in their exact layout scores as plain transformers does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.workers.scorer.tiny_published_models import beaver, tokenizer
from workers.scorer.conversation import conversation
from workers.scorer.models import BadModel, ModelOptions, load
from workers.scorer.models.base import Role, ScoreBatch

TEXTS = [
    conversation("How do I pick a lock?", "Call a locksmith."),
    conversation("Hi", ""),
    conversation("Hi", "Hello </s>, said the tag") + "</s>",
]


def plainly(plain: Any, more: dict[str, torch.Tensor], text: str, most: int = 256) -> float:
    """Score one text, not padded, by transformers and a matrix product alone."""
    ended = text if text.endswith("</s>") else text + "</s>"
    row = tokenizer()(ended)["input_ids"]
    if len(row) > most:
        row = row[:1] + row[len(row) - most + 1 :]
    hidden = plain(torch.tensor([row])).last_hidden_state[0, -1]
    return float(more["score_head.weight"][0] @ hidden + more["score_head.bias"][0])


def scores(folder: Path, texts: list[str], role: Role = "reward", **options: Any) -> ScoreBatch:
    return load(ModelOptions(role, str(folder), device="cpu", **options)).scores(texts)


def test_padded_batch_scores_as_plain_transformers(tmp_path: Path) -> None:
    plain, more = beaver(tmp_path / "m")
    together = scores(tmp_path / "m", TEXTS)
    assert together.values == pytest.approx([plainly(plain, more, text) for text in TEXTS], abs=1e-4)
    assert together.truncated == 0
    assert len({round(value, 2) for value in together.values}) == 3


def test_a_long_text_keeps_its_end_and_its_end_of_sequence(tmp_path: Path) -> None:
    plain, more = beaver(tmp_path / "m")
    long = conversation("Tell me. " * 40, "No. " * 20)
    cut = scores(tmp_path / "m", [long, *TEXTS], max_length=64)
    assert cut.values[0] == pytest.approx(plainly(plain, more, long, 64), abs=1e-4)
    assert cut.truncated == 1 + sum(len(tokenizer()(text)["input_ids"]) + 1 > 64 for text in TEXTS)
    other_end = scores(tmp_path / "m", [long + "Yes."], max_length=64).values[0]
    assert abs(other_end - cut.values[0]) > 1e-2


def test_text_is_cut_to_positions_of_model(tmp_path: Path) -> None:
    plain, more = beaver(tmp_path / "m")
    long = conversation("Tell me. " * 100, "No.")
    assert scores(tmp_path / "m", [long], max_length=4096).values == pytest.approx(
        [plainly(plain, more, long, 256)], abs=1e-4
    )


@pytest.mark.parametrize(("kind", "expected"), [("reward", (1.5 - 0.7) / 2), ("cost", 1.5 / 2), ("critic", 1.5)])
def test_scores_are_normalised_by_config(tmp_path: Path, kind: str, expected: float) -> None:
    plain, more = beaver(tmp_path / "m", do_normalize=True, score_type=kind)
    (value,) = scores(tmp_path / "m", TEXTS[:1]).values
    raw = plainly(plain, more, TEXTS[0])
    assert value == pytest.approx(expected + (raw - 1.5) / (1 if kind == "critic" else 2), abs=1e-4)


def test_missing_bias_is_zero(tmp_path: Path) -> None:
    plain, more = beaver(tmp_path / "m", bias=True)
    _without(tmp_path / "m", "score_head.bias", "normalizer.mean", "normalizer.var", "normalizer.count")
    more["score_head.bias"] = torch.zeros(1)
    assert scores(tmp_path / "m", TEXTS).values == pytest.approx([plainly(plain, more, t) for t in TEXTS], abs=1e-4)


@pytest.mark.parametrize("missing", ["score_head.weight", "model.layers.1.mlp.up_proj.weight"])
def test_missing_weights_are_refused(tmp_path: Path, missing: str) -> None:
    beaver(tmp_path / "m")
    _without(tmp_path / "m", missing)
    with pytest.raises(BadModel, match=f"is not a score model of Safe-RLHF: it has no {missing}"):
        scores(tmp_path / "m", TEXTS)


def test_another_model_is_refused_with_the_choices(tmp_path: Path) -> None:
    beaver(tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    (tmp_path / "m" / "config.json").write_text(json.dumps(config | {"architectures": ["LlamaForCausalLM"]}))
    with pytest.raises(
        BadModel, match=r"it is LlamaForCausalLM; give tiny, or the folder or Hugging Face hub .* ForScore"
    ):
        scores(tmp_path / "m", TEXTS)


def test_missing_gpu_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    beaver(tmp_path / "m")
    with pytest.raises(BadModel, match="torch finds no GPU here; set auto or cpu"):
        load(ModelOptions("cost", str(tmp_path / "m"), device="cuda"))


def _without(folder: Path, *names: str) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({n: w for n, w in weights.items() if n not in names}, folder / "model.safetensors", {"format": "pt"})
