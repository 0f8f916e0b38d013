"""The tokenizer of our own models is, after saving, the one that transformers loads for a Qwen2 model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from workers.corpus.mixture import mixture
from workers.models import Loaded, chat_text
from workers.models.tiny.tokenizer import train_tokenizer

PAIRS = mixture(400, facts=0.45, countdown=0.3, rambling=0.6, seed=0)
TEXTS = sorted({text for pair in PAIRS for text in pair})


@pytest.fixture(scope="module")
def trained() -> Any:
    return train_tokenizer(TEXTS, 640)


def strange(count: int) -> list[str]:
    """Texts of anything: digits in rows, line ends, spaces in rows, other scripts, emoji."""
    rng = random.Random(0)
    letters = "aZé 0129\n\t\r.,!?'<|>_-+=*/()ßж中日ไ\u0301\u200d👍 \n  "
    return ["".join(rng.choices(letters, k=rng.randrange(1, 40))) for _ in range(count)]


def test_auto_tokenizer_splits_as_the_trained_one(trained: Any, tmp_path: Path) -> None:
    trained.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "qwen2"}')
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    texts = TEXTS + strange(600)
    assert len(texts) > 900
    assert loaded(texts)["input_ids"] == trained(texts)["input_ids"]
    assert (loaded.pad_token_id, loaded.eos_token_id) == (trained.pad_token_id, trained.eos_token_id)
    assert loaded.padding_side == "left"


def test_tokenizer_round_trips_any_text(trained: Any) -> None:
    for text in ("naïve café", "中文 ไทย", "👍🏽", "\r\n\t ", "\x00\x7f"):
        assert trained.decode(trained(text)["input_ids"]) == text


def test_tokenizer_has_requested_size_and_special_tokens(trained: Any) -> None:
    assert len(trained) == 640
    assert trained.tokenize("<|im_start|>user\n") == ["<|im_start|>", *trained.tokenize("user\n")]
    assert trained.eos_token == "<|im_end|>"


def test_a_chat_becomes_chatml_that_waits_for_the_answer(micro: Loaded) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    expected = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    assert chat_text(micro.tokenizer, messages) == expected


def test_a_model_without_a_template_gets_the_bare_text(trained: Any) -> None:
    bare = train_tokenizer(TEXTS[:50], 320)
    bare.chat_template = None
    assert chat_text(bare, [{"role": "system", "content": "A"}, {"role": "user", "content": "B"}]) == "A\n\nB"
